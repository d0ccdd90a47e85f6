/* A handler returns to addresses that are none of user space: SIGSEGV there, with that very address. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>
// modes: none callgrind

static volatile unsigned long target, seen;
static ucontext_t before;

static void go(int sig, siginfo_t *si, void *context) {
    ucontext_t *uc = context;
    (void)si;
    if (sig == SIGUSR1) {
        before = *uc;
        uc->uc_mcontext.gregs[REG_RIP] = (long)target;
    } else {
        seen = (unsigned long)uc->uc_mcontext.gregs[REG_RIP];
        for (int i = 0; i < NGREG; i++) uc->uc_mcontext.gregs[i] = before.uc_mcontext.gregs[i];
    }
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = go, .sa_flags = SA_SIGINFO};
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGUSR1, &sa, NULL);
    sigaction(SIGSEGV, &sa, NULL);
    for (int bit = 47; bit < 64; bit++)
        for (int low = 0; low < 2; low++) {
            target = 1ul << bit | (low ? 0x1234 : 0);
            kill(getpid(), SIGUSR1);
            if (seen != target) printf("%lx became %lx\n", target, seen);
        }
    puts("done");
    return 0;
}
