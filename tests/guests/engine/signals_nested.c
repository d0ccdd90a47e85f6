/* Nesting, masks, sigaltstack, SA_NODEFER, SA_RESETHAND, stack overflow recovery. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int depth;
static char alt[64 * 1024];
static sigjmp_buf back;

static void usr1(int sig) {
    (void)sig;
    printf("usr1 depth %d\n", ++depth);
    if (depth < 3) raise(SIGUSR1);
    if (depth == 3) raise(SIGUSR2);
    printf("leave %d\n", depth--);
}
static void usr2(int sig) {
    sigset_t now;
    sigprocmask(SIG_BLOCK, 0, &now);
    printf("usr2 %d: usr1 blocked %d, usr2 blocked %d, hup blocked %d\n", sig, sigismember(&now, SIGUSR1),
           sigismember(&now, SIGUSR2), sigismember(&now, SIGHUP));
}
static void overflow(int sig, siginfo_t *si, void *v) {
    char here;
    (void)si, (void)v;
    printf("sig %d on alternate stack %d\n", sig, &here >= alt && &here < alt + sizeof alt);
    siglongjmp(back, 1);
}
static int recurse(int n) {
    volatile char pad[4096];
    pad[0] = (char)n;
    return n == 0 ? 0 : recurse(n + 1) + pad[0];
}

int main(void) {
    struct sigaction sa = {.sa_handler = usr1, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR1, &sa, 0);
    struct sigaction sb = {.sa_handler = usr2, .sa_flags = SA_RESETHAND};
    sigaddset(&sb.sa_mask, SIGHUP);
    sigaction(SIGUSR2, &sb, 0);
    raise(SIGUSR1);
    struct sigaction old;
    sigaction(SIGUSR2, 0, &old);
    printf("reset %d\n", old.sa_handler == SIG_DFL);

    stack_t ss = {.ss_sp = alt, .ss_size = sizeof alt}, was;
    sigaltstack(&ss, 0);
    struct sigaction so = {.sa_sigaction = overflow, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &so, 0);
    for (int i = 0; i < 2; i++)
        if (!sigsetjmp(back, 1)) recurse(1);
    sigaltstack(0, &was);
    printf("alternate: %d %zu\n", was.ss_sp == alt, was.ss_size);

    sigset_t set, pend;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, 0);
    raise(SIGUSR1);
    raise(SIGUSR1);
    sigpending(&pend);
    printf("pending %d\n", sigismember(&pend, SIGUSR1));
    depth = 5;
    sigprocmask(SIG_UNBLOCK, &set, 0);
    puts("done");
    return 0;
}
