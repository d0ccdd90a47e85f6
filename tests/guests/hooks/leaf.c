/* A function that changes one register alone: callers in its file may rely on all others (gcc's -fipa-ra). */
#include <stdio.h>

__asm__(".globl leaf\n.type leaf, @function\n.p2align 4\n"
        "leaf: lea 1(%rdi), %rax\n nopl 0(%rax)\n ret\n.size leaf, . - leaf\n");

int main(void) {
    long wrong = 0, result;
    for (int i = 0; i < 3; i++)
        __asm__ volatile("mov $2, %%ecx\n mov $3, %%edx\n mov $4, %%esi\n mov $5, %%edi\n mov $8, %%r8d\n mov $9, %%r9d\n"
                         "mov $10, %%r10d\n mov $11, %%r11d\n"
                         "call leaf\n"
                         "lea (%%rcx, %%rdx), %%rcx\n add %%rsi, %%rcx\n add %%rdi, %%rcx\n add %%r8, %%rcx\n"
                         "add %%r9, %%rcx\n add %%r10, %%rcx\n add %%r11, %%rcx\n sub $52, %%rcx\n or %%rcx, %1"
                         : "=&a"(result), "+&r"(wrong)
                         :
                         : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory");
    printf("%ld %ld\n", result, wrong);
    return 0;
}
