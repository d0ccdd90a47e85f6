#include <signal.h>
#include <string.h>
volatile int seen;
char stack[65536];
void handler(int s, siginfo_t *info, void *context) { seen = s; }
int main(void) {
    stack_t own = {stack, 0, sizeof stack};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaltstack(&own, 0);
    sigaction(SIGUSR1, &action, 0);
    raise(SIGUSR1);
    return seen == SIGUSR1 ? 0 : 1;
}
