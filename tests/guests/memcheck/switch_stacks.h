/* Saves what a call keeps, and goes on where the other one has saved. */
#ifndef SWITCH_STACKS_H
#define SWITCH_STACKS_H

void switch_stacks(void **from, void *to);
__asm__(".text\n"
        ".type switch_stacks, @function\n"
        "switch_stacks:\n\t"
        "push %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
        "mov %rsp, (%rdi)\n\t"
        "mov %rsi, %rsp\n\t"
        "pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\t"
        "ret\n"
        ".size switch_stacks, .-switch_stacks\n");

#endif
