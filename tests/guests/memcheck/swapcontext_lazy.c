/* A stack that swapcontext leaves right behind the dynamic linker, which has bound it at its first call: what that had
 * pushed is undefined when RSP comes back.
 * @build: -Wl,-z,lazy */
#include <stdlib.h>
#include <ucontext.h>

static ucontext_t outside, inside;
static int seen; /* has an address without RSP */

static void body(void) { swapcontext(&inside, &outside); }

/* Branch on each of the bytes that a frame gets below RSP. */
#define LOOK()                                                                                                         \
    __asm__ volatile("sub $136, %%rsp\n\t"                                                                             \
                     "xor %%eax, %%eax\n"                                                                              \
                     "1: cmpb $0, (%%rsp,%%rax)\n\t"                                                                   \
                     "je 2f\n\t"                                                                                       \
                     "incl %0\n"                                                                                       \
                     "2: inc %%rax\n\t"                                                                                \
                     "cmp $136, %%rax\n\t"                                                                             \
                     "jne 1b\n\t"                                                                                      \
                     "add $136, %%rsp"                                                                                 \
                     : "+m"(seen)                                                                                      \
                     :                                                                                                 \
                     : "rax", "cc", "memory")

int main(void) {
    static char stack[65536] __attribute__((aligned(16)));
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    makecontext(&inside, body, 0);
    swapcontext(&outside, &inside);
    LOOK();
    return 0;
}
