/* Real-time queue order, sigwait, sigtimedwait, signalfd, sigsuspend. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void on(int sig, siginfo_t *si, void *v) {
    (void)v;
    printf("handler %d value %d\n", sig - SIGRTMIN, si->si_value.sival_int);
}

int main(void) {
    sigset_t set, empty;
    sigemptyset(&set);
    sigemptyset(&empty);
    for (int i = 0; i < 3; i++) sigaddset(&set, SIGRTMIN + i);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, 0);
    for (int i = 0; i < 6; i++) sigqueue(getpid(), SIGRTMIN + 2 - i % 3, (union sigval){.sival_int = i});
    siginfo_t si;
    for (int i = 0; i < 2; i++) {
        int s = sigwaitinfo(&set, &si);
        printf("waited %d value %d code %d\n", s - SIGRTMIN, si.si_value.sival_int, si.si_code);
    }
    struct sigaction sa = {.sa_sigaction = on, .sa_flags = SA_SIGINFO};
    for (int i = 0; i < 3; i++) sigaction(SIGRTMIN + i, &sa, 0);
    sigprocmask(SIG_UNBLOCK, &set, 0);
    sigprocmask(SIG_BLOCK, &set, 0);
    struct timespec ts = {0, 1000000};
    printf("timed out %d %d\n", sigtimedwait(&set, &si, &ts), errno == EAGAIN);
    int fd = signalfd(-1, &set, 0);
    kill(getpid(), SIGUSR1);
    struct signalfd_siginfo sfd;
    printf("signalfd %zd", read(fd, &sfd, sizeof sfd));
    printf(" signo %d\n", sfd.ssi_signo == SIGUSR1);
    struct sigaction su = {.sa_sigaction = on, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &su, 0);
    sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 9});
    int r = sigsuspend(&empty);
    printf("sigsuspend %d %d\n", r, errno == EINTR);
    int s;
    pid_t child = fork();
    if (!child) {
        sigqueue(getppid(), SIGRTMIN + 1, (union sigval){.sival_int = 11});
        _exit(0);
    }
    sigwait(&set, &s);
    printf("from child %d\n", s - SIGRTMIN);
    waitpid(child, 0, 0);
    return 0;
}
