/* Coroutines whose stacks lie side by side, with data between, in one mapping
 * (goroutines): a switch upwards gives nothing back. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

#define SLOT 16384
static long saved[4];

/* Push the callee-saved registers, save RSP, load another one. */
void switch_stack(long *from, long *to);
__asm__(".text\nswitch_stack: push %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
        "mov %rsp, (%rdi)\n\tmov (%rsi), %rsp\n\t"
        "pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tret\n");

static long total;

static void body(int me) {
    for (long i = 0;; i++) {
        volatile long local[32];
        for (int k = 0; k < 32; k++)
            local[k] = i * me + k;
        switch_stack(&saved[me], &saved[0]);
        for (int k = 0; k < 32; k++)
            total += local[k] > 3 ? local[k] : 1;
    }
}
static void one(void) { body(1); }
static void two(void) { body(2); }
static void three(void) { body(3); }

int main(void) {
    void (*const bodies[4])(void) = {0, one, two, three};
    char *area = mmap(NULL, 8 * SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 1; i < 4; i++) {
        long *sp = (long *)(area + (2 * i + 1) * SLOT);
        long *data = (long *)(area + 2 * i * SLOT - SLOT);
        for (int k = 0; k < 100; k++)
            data[k] = k;
        *--sp = 0;
        *--sp = (long)bodies[i];
        for (int k = 0; k < 6; k++)
            *--sp = 0;
        saved[i] = (long)sp;
    }
    for (int round = 0; round < 50; round++)
        for (int i = 1; i < 4; i++) {
            switch_stack(&saved[0], &saved[i]);
            long *data = (long *)(area + 2 * i * SLOT - SLOT);
            for (int k = 0; k < 100; k++)
                total += data[k] & 1 ? 1 : 2;
        }
    printf("%ld\n", total);
    return 0;
}
