// flags: -no-pie
// modes: default single-step no-optimise memcheck tracking
/* movdir64b has two addresses: prefixes count for one of them or for both. */
#include <cpuid.h>
static int has_it(void) {
    unsigned a, b, c = 0, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c >> 28 & 1);
}
#define PROBE_SKIP(name) !has_it()
#include "probes.h"

#define MOVDIR64B ".byte 0x66, 0x0f, 0x38, 0xf8, "
#define HIGH "movabs $0x1234500000000, %rcx\nor %rcx, %rbx\n"
PROBE("plain", "lea 0x300(%r12), %rax\n" MOVDIR64B "0x03")
PROBE("32 bits of both", HIGH "lea 0x300(%r12), %rax\nor %rcx, %rax\n.byte 0x67\n" MOVDIR64B "0x03")
PROBE("32 bits, displacement", HIGH "lea 0x340(%r12), %rax\nor %rcx, %rax\n.byte 0x67\n" MOVDIR64B "0x43, 0x10")
PROBE("gs", "mov $0x340, %eax\nlea 0x340(%r12), %rax\nmov $0x200, %ebx\n.byte 0x65\n" MOVDIR64B "0x03")
PROBE("gs, 32 bits", "movabs $0x1234500000000, %rcx\nmov $0x200, %ebx\nor %rcx, %rbx\nlea 0x380(%r12), %rax\n"
      "or %rcx, %rax\n.byte 0x65, 0x67\n" MOVDIR64B "0x03")
PROBE("misaligned", "lea 0x301(%r12), %rax\n" MOVDIR64B "0x03")
PROBE("to a hole", "mov $0x2030040, %eax\n" MOVDIR64B "0x03")
PROBE("from a hole", "lea 0x300(%r12), %rax\nmov %r9, %rbx\n" MOVDIR64B "0x03")
PROBE("both", "mov $0x2030040, %eax\nmov %r9, %rbx\n" MOVDIR64B "0x03")
PROBE("to what is no address", "mov %r8, %rax\n" MOVDIR64B "0x03")

int main(void) { return run_probes(); }
