/* RSP goes up and what it gave back is read once more, within the red zone:
 * the ABI allows it, libffi's calls and closures do it, and Mono's trampolines. */
#include <stdio.h>

long by_frame(long);
long by_address(long);
long by_offset(long);
long by_jump(long);
long by_leave(long);

__asm__(".text\n"
        "by_frame: push %rbp\n\tlea -0x40(%rsp), %rsp\n\tmov %rsp, %rbp\n\tmov %rdi, (%rbp)\n\tmov %rdi, 8(%rbp)\n\t"
        "lea 0x40(%rbp), %rsp\n\tmov (%rbp), %rax\n\tadd 8(%rbp), %rax\n\ttest %rax, %rax\n\tjs 1f\n\t"
        "1: pop %rbp\n\tret\n"
        "by_address: sub $0xd8, %rsp\n\tmov %rdi, 0xb0(%rsp)\n\tadd $0xd8, %rsp\n\tlea -0x28(%rsp), %rsi\n\t"
        "lea 2f(%rip), %r10\n\tjmp *%r10\n\t2: mov (%rsi), %rax\n\tret\n"
        "by_offset: push %rdi\n\tadd $8, %rsp\n\tmov -8(%rsp), %rax\n\tret\n"
        "by_jump: push %rbp\n\tmov %rsp, %rbp\n\tsub $0x40, %rsp\n\tlea 3f(%rip), %rax\n\tmov %rax, -8(%rbp)\n\t"
        "leave\n\tjmp *-0x10(%rsp)\n\t3: mov %rdi, %rax\n\tret\n"
        "by_leave: push %rbp\n\tmov %rsp, %rbp\n\tsub $0x40, %rsp\n\tmov %rdi, -8(%rbp)\n\t"
        "leave\n\tmov -0x10(%rsp), %rax\n\tret\n");

int main(void) {
    long sum = 0;
    for (int i = 0; i < 100; i++)
        sum += by_frame(i) + by_address(i) + by_offset(i) + by_jump(i) + by_leave(i);
    if (sum > 5)
        printf("%ld\n", sum);
    return 0;
}
