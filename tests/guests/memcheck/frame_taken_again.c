/* A frame for an argument on the stack is given back, and behind a branch taken again as it was: compilers that pass an
 * aggregate by value twice store it once, for the red zone is kept. Where a call comes in between it is dead. */
#include <stdio.h>
#include <string.h>

__attribute__((noinline, used)) int differ(const void *p, const void *q) { return memcmp(p, q, 64); }

#define BEGIN(name)                                                                                                    \
    ".globl " #name "\n" #name ": push %rbx; push %r12; push %r13; mov %rdi, %rbx; mov %rsi, %r12\n"                    \
    "sub $64, %rsp; movups (%rbx), %xmm0; movups 16(%rbx), %xmm1; movups 32(%rbx), %xmm2; movups 48(%rbx), %xmm3\n"      \
    "movups %xmm0, (%rsp); movups %xmm1, 16(%rsp); movups %xmm2, 32(%rsp); movups %xmm3, 48(%rsp)\n"                     \
    "mov %rsp, %rdi; mov %r12, %rsi; call differ\n"                                                                    \
    "add $64, %rsp; test %eax, %eax\n"
#define CALL "mov %rsp, %rdi; mov %r12, %rsi; call differ\n"
#define END  "1: pop %r13; pop %r12; pop %rbx; ret\n"

int falls_through(const void *p, const void *q);
int jumps(const void *p, const void *q);
int reads(const void *p, const void *q);
int calls_between(const void *p, const void *q);
__asm__(BEGIN(falls_through) "jne 1f; sub $64, %rsp\n" CALL "add $64, %rsp\n" END
        BEGIN(jumps) "je 2f; jmp 1f; 2: lea -64(%rsp), %rsp; xor %edx, %edx\n" CALL "lea 64(%rsp), %rsp\n" END
        BEGIN(reads) "jne 1f; sub $72, %rsp; mov 8(%rsp), %rax; sub (%rbx), %rax; je 2f; mov $1, %eax; 2: add $72, %rsp\n" END
        BEGIN(calls_between) "jne 1f; xor %edi, %edi; call nothing; sub $64, %rsp\n"
        "mov 32(%rsp), %eax; add $64, %rsp\n" END
        "nothing: ret\n");

int main(void) {
    char a[64], b[64];
    memset(a, 7, 64);
    memcpy(b, a, 64);
    for (int i = 0; i < 3; i++)
        printf("%d %d %d\n", falls_through(a, b), jumps(a, b), reads(a, b));
    if (calls_between(a, b) == 1) puts("one"); /* error */
    return 0;
}
