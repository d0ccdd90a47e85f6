/* Prints which of two signals of one number a program gets that blocks it; or, with a process number, is the tracer that
 * sends both: the second when that process is about to run the first instruction for the first. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int go, value;

static void handler(int sig, siginfo_t *info, void *context) {
    (void)context;
    if (sig == SIGUSR1)
        go = 1;
    else
        value = info->si_value.sival_int;
}

static int program(void) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigset_t set;
    sigaction(SIGFPE, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGFPE);
    sigprocmask(SIG_BLOCK, &set, NULL);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    printf("%d\n", getpid());
    fflush(stdout);
    while (!go) {}
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    printf("%d\n", value);
    return 0;
}

/* The next stop for a signal; what else comes it gets. */
static void until(int pid, int sig) {
    int status;
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
        if (WSTOPSIG(status) == sig) return;
        ptrace(PTRACE_CONT, pid, NULL, (long)WSTOPSIG(status));
    }
    exit(2);
}

int main(int argc, char **argv) {
    if (argc < 2) return program();
    int pid = atoi(argv[1]), in_handler = argc > 2;
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL)) return 1;
    sigqueue(pid, SIGFPE, (union sigval){.sival_int = 66});
    if (in_handler) { /* natively it is blocked, and nobody stops for it */
        until(pid, SIGFPE);
        ptrace(PTRACE_SINGLESTEP, pid, NULL, (long)SIGFPE);
        until(pid, SIGTRAP);
    }
    sigqueue(pid, SIGFPE, (union sigval){.sival_int = 77});
    if (in_handler) {
        ptrace(PTRACE_CONT, pid, NULL, NULL);
        until(pid, SIGFPE);
        ptrace(PTRACE_CONT, pid, NULL, (long)SIGFPE);
    }
    kill(pid, SIGUSR1);
    until(pid, SIGUSR1);
    ptrace(PTRACE_DETACH, pid, NULL, (long)SIGUSR1);
    return 0;
}
