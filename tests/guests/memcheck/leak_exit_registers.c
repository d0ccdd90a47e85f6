/* On what the thread that ends the program has in registers hangs no block, but for RBX and RBP.
 * @options: --leak-check=full --show-leak-kinds=all */
#include <stdint.h>
#include <stdlib.h>

/* Upside down, so that the blocks hang on nothing before they are in registers. */
static uintptr_t hidden[14];

int main(void) {
    for (int i = 0; i < 14; i++) hidden[i] = ~(uintptr_t)malloc(100 + i);
    __asm__ volatile("mov (%0), %%rbx\n\tnot %%rbx\n\t"
                     "mov 8(%0), %%rbp\n\tnot %%rbp\n\t"
                     "mov 16(%0), %%rcx\n\tnot %%rcx\n\t"
                     "mov 24(%0), %%rdx\n\tnot %%rdx\n\t"
                     "mov 32(%0), %%rsi\n\tnot %%rsi\n\t"
                     "mov 48(%0), %%r8\n\tnot %%r8\n\t"
                     "mov 56(%0), %%r9\n\tnot %%r9\n\t"
                     "mov 64(%0), %%r10\n\tnot %%r10\n\t"
                     "mov 72(%0), %%r11\n\tnot %%r11\n\t"
                     "mov 80(%0), %%r12\n\tnot %%r12\n\t"
                     "mov 88(%0), %%r13\n\tnot %%r13\n\t"
                     "mov 96(%0), %%r14\n\tnot %%r14\n\t"
                     "mov 104(%0), %%r15\n\tnot %%r15\n\t"
                     "mov $231, %%eax\n\txor %%edi, %%edi\n\tsyscall"
                     :
                     : "D"(hidden)
                     : "memory");
    __builtin_unreachable();
}
