/* A traced process of several threads ends: by a call, by a fault, by exec in a thread that is not the first. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
// modes: none memcheck
// errors: yes

static volatile int ready, how;
static void *thread(void *arg) {
    __sync_fetch_and_add(&ready, 1);
    while (how != 3 || arg == NULL) {
        if (arg == NULL) sched_yield();
    }
    while (ready < 2) sched_yield();
    execl("/bin/true", "true", NULL);
    return arg;
}

static void child(void) {
    pthread_t t;
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    pthread_create(&t, NULL, thread, NULL);
    pthread_create(&t, NULL, thread, &t);
    while (ready < 2) sched_yield();
    if (how == 1) _exit(5);
    if (how == 2) *(volatile int *)16 = 1;
    for (;;) sched_yield();
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i <= 3; i++) {
        int st, clones = 0, stops = 0, faults = 0, exits = 0, threads = 0, execs = 0, other = 0;
        how = i;
        pid_t p = fork();
        if (p == 0) child();
        waitpid(p, &st, 0);
        ptrace(PTRACE_SETOPTIONS, p, 0, PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
        ptrace(PTRACE_CONT, p, 0, 0);
        int end = -1;
        for (pid_t w; (w = waitpid(-1, &st, __WALL)) > 0;) {
            if (!WIFSTOPPED(st)) {
                if (w == p) end = st; else threads++;
                continue;
            }
            int sig = 0;
            if (st >> 16 == PTRACE_EVENT_CLONE) clones++;
            else if (st >> 16 == PTRACE_EVENT_EXIT) exits++;
            else if (st >> 16 == PTRACE_EVENT_EXEC) execs++;
            else if (WSTOPSIG(st) == SIGSTOP) stops++;
            else if (WSTOPSIG(st) == SIGSEGV) faults++, sig = SIGSEGV;
            else other++, printf("other %x\n", st);
            ptrace(PTRACE_CONT, w, 0, sig);
        }
        printf("%d: end %x clones %d stops %d faults %d exits %d threads %d execs %d other %d\n", i, end & 0xff7f, clones, stops, faults, exits,
               threads, execs, other);
    }
    return 0;
}
