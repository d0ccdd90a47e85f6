/* How tracing ends: a tracer that detaches, that ends first, and one that ends with its tracee (EXITKILL). */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
// modes: none memcheck

static volatile int *shared;
static void handler(int sig) { shared[0] = sig; }

static pid_t tracee(void) {
    pid_t p = fork();
    if (p == 0) {
        signal(SIGUSR1, handler);
        shared[1] = 1;
        while (shared[2] == 0) sched_yield();
        _exit(40 + shared[0]);
    }
    while (!shared[1]) sched_yield();
    return p;
}
static int tracer(pid_t p, int how) {
    int st;
    pid_t t = fork();
    if (t == 0) {
        if (how == 4) {
            ptrace(PTRACE_SEIZE, p, 0, PTRACE_O_EXITKILL);
            ptrace(PTRACE_INTERRUPT, p, 0, 0);
        } else {
            ptrace(PTRACE_ATTACH, p, 0, 0);
        }
        if (waitpid(p, &st, __WALL) != p) _exit(1);
        if (how == 1) ptrace(PTRACE_DETACH, p, 0, SIGUSR1);
        if (how == 3) {
            ptrace(PTRACE_CONT, p, 0, 0);
            kill(p, SIGUSR1);
            if (waitpid(p, &st, __WALL) != p) _exit(1);
            _exit(WSTOPSIG(st)); /* the signal stays to be delivered */
        }
        _exit(0);
    }
    waitpid(t, &st, 0);
    return WEXITSTATUS(st);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int how = 1; how <= 4; how++) {
        int st;
        shared[0] = shared[1] = shared[2] = 0;
        pid_t p = tracee();
        printf("%d: tracer %d", how, tracer(p, how));
        shared[2] = 1;
        waitpid(p, &st, 0);
        printf(" end %x\n", st);
    }
    /* Traced again, and asked for itself. */
    shared[0] = shared[1] = shared[2] = 0;
    pid_t p = tracee();
    for (int i = 0; i < 3; i++) {
        int st;
        printf("attach %ld", ptrace(PTRACE_ATTACH, p, 0, 0));
        printf(" twice %ld", ptrace(PTRACE_ATTACH, p, 0, 0));
        printf(" %d", errno);
        waitpid(p, &st, 0);
        printf(" stop %d detach %ld\n", WSTOPSIG(st), ptrace(PTRACE_DETACH, p, 0, 0));
    }
    struct user_regs_struct r;
    long e = ptrace(PTRACE_GETREGS, p, 0, &r);
    printf("not traced %ld %d\n", e, errno);
    ptrace(PTRACE_SEIZE, p, 0, 0);
    e = ptrace(PTRACE_GETREGS, p, 0, &r);
    printf("not stopped %ld %d\n", e, errno);
    kill(p, SIGKILL);
    int st;
    waitpid(p, &st, 0);
    printf("killed %x\n", st);
    e = ptrace(PTRACE_CONT, p, 0, 0);
    printf("gone %ld %d\n", e, errno);
    e = ptrace(PTRACE_ATTACH, getpid(), 0, 0);
    printf("self %ld %d\n", e, errno);
    e = ptrace(9999, p, 0, 0);
    printf("what %ld %d\n", e, errno);
    return 0;
}
