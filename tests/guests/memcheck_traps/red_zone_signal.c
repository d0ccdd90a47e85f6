/* A signal comes while values are in the red zone only, its handler on the same
 * stack or on another one: they are what they were. Loops that make no calls
 * (Gambit's, under its heartbeat timer) live there. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

volatile int came;
long waits(long);

__asm__(".text\n"
        "waits: mov %rdi, -8(%rsp)\n\tmov %rdi, -128(%rsp)\n\t1: cmpl $0, came(%rip)\n\tje 1b\n\t"
        "mov -8(%rsp), %rax\n\tadd -128(%rsp), %rax\n\ttest %rax, %rax\n\tjs 2f\n\t2: ret\n");

static void handler(int number) {
    volatile char frame[512];
    for (unsigned i = 0; i < sizeof frame; i++)
        frame[i] = (char)number;
    came += frame[3] != 0;
}

static long once(int flags, long value) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    struct itimerval soon = {.it_value = {.tv_usec = 2000}};
    came = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    return waits(value);
}

int main(void) {
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, NULL);
    for (int i = 0; i < 5; i++)
        if (once(0, i) + once(SA_ONSTACK, i) != 4 * i)
            return 1;
    puts("as they were");
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    free(stack.ss_sp);
    return 0;
}
