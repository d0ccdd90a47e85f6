// flags: -no-pie
// modes: default single-step memcheck tracking
/* The program's alignment check, for what far transfers and segment registers read and write. */
#include "probes.h"

#define ON "pushfq\norl $0x40000, (%rsp)\npopfq\n"
#define OFF "\npushfq\nandl $~0x40000, (%rsp)\npopfq"
/* A far pointer at RBX + o to the label, with the selector wherever one of another size would have it. */
#define POINTER(o)                                                                                                    \
    "lea 9f(%rip), %rax\nmov %eax, " #o "(%rbx)\nmovl $0x33, 4+" #o "(%rbx)\nmovl $0x33, 8+" #o "(%rbx)\n"             \
    "movl $0x33, 12+" #o "(%rbx)\n"
#define SHORT(o) "movl $0x330030, " #o "(%rbx)\n"
#define DOWN(o) "sub $8+" #o ", %rsp\n"
#define LAND "\n9: nop" OFF

#define AT(o)                                                                                                          \
    PROBE("ljmp 32 +" #o, POINTER(o) ON "ljmp *" #o "(%rbx)" LAND)                                                     \
    PROBE("ljmp 64 +" #o, POINTER(o) ON "rex.w ljmp *" #o "(%rbx)" LAND)                                               \
    PROBE("ljmp 16 +" #o, SHORT(o) ON "data16 ljmp *" #o "(%rbx)")                                                     \
    PROBE("lcall +" #o, POINTER(o) ON "lcall *" #o "(%rbx)" LAND)                                                      \
    PROBE("lcall 32, stack +" #o, POINTER(0) DOWN(o) ON "lcall *(%rbx)" LAND)                                          \
    PROBE("lcall 64, stack +" #o, POINTER(0) DOWN(o) ON "rex.w lcall *(%rbx)" LAND)                                    \
    PROBE("lcall 16, stack +" #o, SHORT(0) DOWN(o) ON "data16 lcall *(%rbx)" LAND)                                     \
    PROBE("lretq +" #o, "sub $" #o ", %rsp\nlea 9f(%rip), %rax\npush $0x33\npush %rax\n" ON "lretq" LAND)              \
    PROBE("lretl +" #o, DOWN(o) "lea 9f(%rip), %rax\nmov %eax, (%rsp)\nmovl $0x33, 4(%rsp)\n" ON "lretl" LAND)         \
    PROBE("lretw +" #o, DOWN(o) "movl $0x330030, (%rsp)\n" ON "lretw" LAND)                                            \
    PROBE("iretq +" #o, "sub $" #o ", %rsp\nmov %rsp, %rdx\npush $0x2b\npush %rdx\npush $0x202\npush $0x33\n"          \
          "lea 9f(%rip), %rax\npush %rax\n" ON "iretq\n9: nop")                                                        \
    PROBE("mov to gs +" #o, "movl $0, " #o "(%rbx)\n" ON "mov " #o "(%rbx), %gs" OFF)                                  \
    PROBE("mov from gs +" #o, ON "mov %gs, " #o "(%rbx)" OFF)                                                          \
    PROBE("push gs +" #o, DOWN(o) ON "push %gs" OFF)                                                                   \
    PROBE("pop gs +" #o, DOWN(o) "movq $0, (%rsp)\n" ON "pop %gs" OFF)                                                 \
    PROBE("pushw gs +" #o, DOWN(o) ON "pushw %gs" OFF)                                                                 \
    PROBE("lgs 32 +" #o, "movl $0, 4+" #o "(%rbx)\n" ON "lgs " #o "(%rbx), %ecx" OFF)                                  \
    PROBE("lgs 16 +" #o, "movl $0, 2+" #o "(%rbx)\n" ON "lgs " #o "(%rbx), %cx" OFF)
AT(0)
AT(1)
AT(2)
AT(4)
AT(6)
PROBE("ljmp hole", ON "ljmp *1(%r9)")
PROBE("ljmp noncanonical", ON "ljmp *1(%r8)")
PROBE("ljmp crossing", ON "ljmp *(%r11)")
PROBE("push gs hole", ON "lea 1(%r9), %rsp\npush %gs")
PROBE("push gs read-only", ON "lea 1(%r10), %rsp\npush %gs")
PROBE("lretq hole", ON "lea 1(%r9), %rsp\nlretq")
PROBE("lretq noncanonical", ON "lea 1(%r8), %rsp\nlretq")
PROBE("lcall null", "movl $3, 4(%rbx)\n" ON "lea 1(%rsp), %rsp\nlcall *(%rbx)")

int main(void) { return run_probes(); }
