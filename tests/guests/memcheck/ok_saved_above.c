/* Poly/ML's way back to its thread's stack: RSP gets what was kept before registers were pushed, and is lowered to them. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void *kept, *other;
static long sum;

static void work(void) {
    volatile long a[64];
    for (int i = 0; i < 64; i++) a[i] = i;
    for (int i = 0; i < 64; i++) sum += a[i];
}

#define SWITCH(NAME, FRAME)                                                                                           \
    long NAME(void (*f)(void), long v);                                                                               \
    __asm__(#NAME ":\n"                                                                                                \
            "push %rbp\n mov %rsp, kept(%rip)\n"                                                                       \
            "push %rbx\n push %r12\n push %r13\n sub $" #FRAME ", %rsp\n mov %rsi, %rbx\n mov %rsi, (%rsp)\n"          \
            "mov other(%rip), %rsp\n"                                                                                  \
            "mov $0, %ebx\n call *%rdi\n"                                                                              \
            "mov kept(%rip), %rsp\n sub $" #FRAME "+24, %rsp\n mov (%rsp), %rax\n"                                     \
            "add $" #FRAME ", %rsp\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n")

/* Within one stack: up to what was kept, and down again. */
long within(long v);
__asm__("within:\n"
        "push %rbx\n mov %rsp, %rdx\n sub $400, %rsp\n mov %rdi, 200(%rsp)\n"
        "sub $1000, %rsp\n movq $0, (%rsp)\n"
        "mov %rdx, %rsp\n sub $400, %rsp\n mov 200(%rsp), %rax\n add $400, %rsp\n pop %rbx\n ret\n");

SWITCH(small, 0x10);
SWITCH(large, 0x1000);

int main(void) {
    char *stack = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    other = stack + (1 << 20) - 64;
    for (int i = 0; i < 3; i++)
        if (small(work, 7) + large(work, 5) + within(3) != 15) return 2;
    printf("%ld\n", sum);
    return 0;
}
