/* Indirect functions: docs/spec/redirection.md section 5. */
#include "stubs.h"

#define REQ_ADD_IFUNC_TARGET 0x3104

#define PREAMBLE "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"

/* Runs in place of a resolver: calls it, and tells the core what it chose. */
__attribute__((visibility("default"), used, noinline)) void *_vgnU_ifunc_wrapper(void) {
    u64 original, chosen;
    __asm__ volatile(PREAMBLE "xchgq %%rcx, %%rcx" : "=a"(original) : : "cc", "memory");
    __asm__ volatile("movq %%rsp, %%r14\n\tandq $-16, %%rsp\n\t" PREAMBLE "xchgq %%rdx, %%rdx\n\tmovq %%r14, %%rsp"
                     : "=a"(chosen)
                     : "a"(original)
                     : "cc", "memory", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r14");
    request(REQ_ADD_IFUNC_TARGET, original, chosen, 0, 0, 0);
    return (void *)chosen;
}
