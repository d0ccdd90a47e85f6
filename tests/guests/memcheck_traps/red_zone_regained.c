/* RSP goes up and down again over the same words before anything else happens to
 * them: they never left the red zone, so they are what they were. OCaml's calls of C
 * pop the return address to memory, and the C function returns to it nevertheless. */
#include <stdio.h>

long caller_noted(long);
long in_two_steps(long);
long with_push(long);
long noted;

__asm__(".text\n"
        "caller_noted: popq noted(%rip)\n\tlea 1f(%rip), %rax\n\tsub $8, %rsp\n\tsub $0x1000, %rsp\n\t"
        "mov %rax, (%rsp)\n\tadd $0x1000, %rsp\n\tjmp *%rax\n\t1: lea 1(%rdi), %rax\n\tret\n"
        "in_two_steps: push %rdi\n\tpush %rdi\n\tpush %rdi\n\tadd $24, %rsp\n\tlea -8(%rsp), %rsp\n\tsub $16, %rsp\n\t"
        "pop %rax\n\tadd 8(%rsp), %rax\n\ttest %rax, %rax\n\tjs 1f\n\t1: add $16, %rsp\n\tret\n"
        "with_push: push %rdi\n\tpush %rdi\n\tpop %rax\n\tpop %rcx\n\tpush %rax\n\tsub $8, %rsp\n\t"
        "mov (%rsp), %rax\n\ttest %rax, %rax\n\tjs 1f\n\t1: add $16, %rsp\n\tret\n");

int main(void) {
    long sum = 0;
    for (int i = 0; i < 100; i++)
        sum += caller_noted(i) + in_two_steps(i) + with_push(i);
    if (sum > 5)
        printf("%ld %d\n", sum, noted != 0);
    return 0;
}
