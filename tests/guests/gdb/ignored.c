#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    sigset_t s;
    int sig = 0;
    for (int i = 0; i < 2; i++) {
        if (!fork()) _exit(3); else wait(0);
    }
    raise(SIGWINCH);
    signal(SIGCHLD, SIG_IGN);
    if (!fork()) _exit(3);
    wait(0);
    signal(SIGUSR1, SIG_IGN);
    raise(SIGUSR1);
    sigemptyset(&s);
    sigaddset(&s, SIGUSR2);
    sigprocmask(SIG_BLOCK, &s, 0);
    raise(SIGUSR2);
    signal(SIGUSR2, SIG_IGN);
    sigprocmask(SIG_UNBLOCK, &s, 0);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&s);
    sigaddset(&s, SIGCHLD);
    sigprocmask(SIG_BLOCK, &s, 0);
    if (!fork()) _exit(3);
    wait(0);
    sigpending(&s);
    printf("pending %d\n", sigismember(&s, SIGCHLD));
    sigwait(&s, &sig);
    printf("sigwait %d\n", sig);
    raise(SIGCHLD);
    sigprocmask(SIG_UNBLOCK, &s, 0);
    raise(SIGCONT);
    return 0;
}
