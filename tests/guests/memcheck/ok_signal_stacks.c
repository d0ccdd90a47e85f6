/* No error: handlers on the normal and on an alternate stack, with their context read, nested, and left by siglongjmp.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int seen, depth;
static sigjmp_buf back;

static void on_usr(int sig, siginfo_t *info, void *context) {
    ucontext_t *uc = context;
    char local[500];
    memset(local, sig, sizeof local);
    if (info->si_signo == sig && uc->uc_mcontext.gregs[REG_RIP] != 0 && local[3] == sig)
        seen++;
    if (depth++ == 0)
        raise(SIGUSR2);
}
static void on_segv(int sig) {
    (void)sig;
    siglongjmp(back, 1);
}

int main(void) {
    struct sigaction sa;
    stack_t ss;
    memset(&sa, 0, sizeof sa);
    sa.sa_sigaction = on_usr;
    sa.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ss.ss_sp = malloc(65536);
    ss.ss_size = 65536;
    ss.ss_flags = 0;
    sigaction(SIGUSR1, &sa, NULL);
    sa.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR2, &sa, NULL);
    raise(SIGUSR1);
    if (sigaltstack(&ss, NULL))
        return 2;
    depth = 0;
    raise(SIGUSR1);
    signal(SIGTERM, on_segv);
    for (int i = 0; i < 3; i++)
        if (sigsetjmp(back, 1) == 0)
            raise(SIGTERM);
    ss.ss_flags = SS_DISABLE;
    sigaltstack(&ss, NULL);
    free(ss.ss_sp);
    return seen != 4;
}
