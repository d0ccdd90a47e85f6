/* Endless recursion whose SIGSEGV is handled on another stack, and comes back by a jump, twice. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static sigjmp_buf back;

static int down(int n) {
    volatile char pad[1000];
    pad[0] = (char)n;
    return down(n + 1) + pad[0];
}

static void handler(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    siglongjmp(back, info->si_code == SEGV_MAPERR ? 1 : 2);
}

int main(void) {
    static char room[65536];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action;
    volatile int codes = 0;
    sigaltstack(&stack, 0);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_ONSTACK | SA_SIGINFO;
    sigaction(SIGSEGV, &action, 0);
    for (volatile int i = 0; i < 2; i++) {
        int code = sigsetjmp(back, 1);
        if (!code)
            return down(0);
        codes += code;
    }
    return codes;
}
