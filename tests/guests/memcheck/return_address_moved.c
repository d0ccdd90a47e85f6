/* A function moves its return address up, into a block of its caller's, sets RSP above where it was and calls on, as
 * libffi's ffi_call_unix64 does: whoever has called it is in the stacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long by_block(long *block, long bytes, long (*function)(long), long argument);

__asm__(".text\n"
        ".type by_block, @function\n"
        "by_block: .cfi_startproc\n\t"
        "mov (%rsp), %r10\n\tlea (%rdi,%rsi), %rax\n\t"
        "mov %rbp, (%rax)\n\tmov %r10, 8(%rax)\n\tmov %rax, %rbp\n\t"
        ".cfi_def_cfa %rbp, 16\n\t.cfi_offset %rbp, -16\n\t"
        "lea 64(%rdi), %rsp\n\tmov %rcx, %rdi\n\tcall *%rdx\n\t"
        "lea 8(%rbp), %rsp\n\tmov (%rbp), %rbp\n\t"
        ".cfi_def_cfa %rsp, 8\n\t.cfi_restore %rbp\n\t"
        "ret\n\t.cfi_endproc\n"
        ".size by_block, .-by_block\n");

static long reads_freed(long bytes) {
    volatile char *block = malloc(bytes);
    block[0] = 1;
    free((void *)block);
    return block[0] == 77;
}

static long calls(long bytes) { return reads_freed(bytes) + 1; }

/* RSP is another one when it is back; a function that has used alloca does not need it. */
static long through(long bytes) {
    long *block = __builtin_alloca(bytes + 256);
    memset(block, 0, bytes + 256);
    return by_block(block, 128, calls, bytes) + 1;
}

int main(void) {
    long sum = 0;
    for (int i = 1; i < 4; i++)
        sum += through(16 * i);
    printf("%ld\n", sum + through(8));
    return 0;
}
