/* Reads the same lines where costs are collected and where they are not, and with instrumentation off in between. */
#include <valgrind/callgrind.h>

#define SIZE 4096

char stack[SIZE] __attribute__((aligned(SIZE)));
static volatile char lines[SIZE] __attribute__((aligned(SIZE))) = {1};

__attribute__((noinline, noipa)) static int reads(void)
{
    int sum = 0;
    for (int i = 0; i < SIZE; i += 64) sum += lines[i] ? i : 3;
    return sum;
}

__attribute__((noinline, noipa)) static int warm(void) { return reads() + 1; }

__attribute__((noinline, noipa)) static int cold(void) { return reads() + 2; }

void run(void)
{
    reads();
    warm();
    CALLGRIND_STOP_INSTRUMENTATION;
    reads();
    CALLGRIND_START_INSTRUMENTATION;
    cold();
    asm volatile("syscall" ::"a"(231), "D"(0) : "rcx", "r11", "memory");
}

asm(".globl _start\n.type _start, @function\n_start: lea stack+4096(%rip), %rsp\n call run\n.size _start, . - _start");
