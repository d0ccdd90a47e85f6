// flags: -no-pie
// modes: default single-step memcheck tracking
/* The guest's own trap flag: after which instruction the signal comes. */
#include "probes.h"

PROBE("trap flag", "pushfq\norl $0x100, (%rsp)\npopfq\nadd %rcx, %rax\nnop")
PROBE("trap flag, load", "add %rcx, %rax\npushfq\norl $0x100, (%rsp)\npopfq\nmov (%rbx), %rax\nadd $1, %rax")
PROBE("trap flag, fault", "pushfq\norl $0x100, (%rsp)\npopfq\nmov (%r9), %rax\nnop")

int main(void) { return run_probes(); }
