/* The handler of a fault goes on where the carry, which code behind the access overwrites, tells that there was one. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

extern char after_load[], after_chain[];

static const char *volatile resume;

static void handler(int sig, siginfo_t *info, void *context) {
    ucontext_t *u = context;
    (void)sig, (void)info;
    u->uc_mcontext.gregs[REG_RIP] = (long)resume;
}

__attribute__((noinline)) static int load(const char *p) {
    unsigned char failed;
    char c;
    resume = after_load;
    __asm__ volatile("stc\n"
                     "movb (%2), %1\n"
                     "clc\n"
                     ".globl after_load\nafter_load:\n"
                     "setc %0"
                     : "=q"(failed), "=&q"(c)
                     : "r"(p)
                     : "cc", "memory");
    return failed;
}

/* Compared with registers only, and several accesses before the flags are anything else. */
__attribute__((noinline)) static int chain(const long *p, const long *q, long a, long b) {
    int below;
    long sum;
    resume = after_chain;
    __asm__ volatile("cmp %5, %4\n"
                     "mov (%2), %1\n"
                     "mov 8(%2), %1\n"
                     "mov (%3), %1\n"
                     "xor %k0, %k0\n"
                     ".globl after_chain\nafter_chain:\n"
                     "setb %b0\n"
                     "movzbl %b0, %k0"
                     : "=&q"(below), "=&r"(sum)
                     : "r"(p), "r"(q), "r"(a), "r"(b)
                     : "cc", "memory");
    return below;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    const long *bad = (const long *)4096;
    long pair[2] = {1, 2};
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < 3; i++) {
        printf("%d %d\n", load("x"), load((const char *)bad));
        printf("%d %d %d\n", chain(pair, pair, 1, 2), chain(bad, pair, 1, 2), chain(pair, bad, 1, 2));
        printf("%d %d\n", chain(bad, pair, 2, 1), chain(pair, bad, 2, 1));
    }
    return 0;
}
