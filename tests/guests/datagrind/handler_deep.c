// A handler that stays long, with many indirect jumps, where what it interrupted is deep: once plain, once on a stack of its own
// from which it jumps.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>

#define KEEP __attribute__((noinline, noclone))
volatile int in_handler, after_handler, after_jump;
static char other_stack[65536];
static sigjmp_buf out;
static int jumps;

KEEP void works(void) {
    static void *const ways[] = {&&one, &&two};
    for (volatile int i = 0; i < 1000000; i++) {
        goto *ways[i & 1];
    one:
        jumps++;
    two:;
    }
    in_handler = 1;
}
static void returns(int sig) { works(); }
static void leaves(int sig) {
    works();
    siglongjmp(out, 1);
}
KEEP int deep(int n, int sig) {
    if (n == 0) {
        raise(sig);
        after_handler = 1;
        return 0;
    }
    return deep(n - 1, sig) + 1;
}

int main(void) {
    stack_t other = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    sigaltstack(&other, 0);
    struct sigaction plain = {.sa_handler = returns};
    struct sigaction apart = {.sa_handler = leaves, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &plain, 0);
    sigaction(SIGUSR2, &apart, 0);
    int depth = deep(100000, SIGUSR1);
    if (sigsetjmp(out, 1) == 0) deep(100000, SIGUSR2);
    after_jump = 1;
    return depth == 100000 && jumps == 1000000 ? 0 : 1;
}
