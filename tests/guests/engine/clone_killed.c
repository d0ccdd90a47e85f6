/* A child that shares memory is killed in the middle of its code, and leaves its bookkeeping behind. */
// modes: default evict evict-often tiny-cache memcheck
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int up;
static int word;

static int run(void *arg) {
    (void)arg;
    up = 1;
    for (;;) {}
    return 0;
}

static int work(void) {
    int sum = 0;
    for (int k = 0; k < 20; k++) sum += snprintf(NULL, 0, "%d %g", k, k / 7.0) ^ (k & 1 ? abs(k - 100) : k / 3);
    return sum;
}

int main(void) {
    for (int i = 0; i < 4; i++) {
        /* The kernel clears the program's own word at the end, or none. */
        int flags = i & 1 ? CLONE_CHILD_CLEARTID : 0, status;
        char *stack = malloc(65536);
        up = 0;
        word = 7;
        int pid = clone(run, stack + 65536, CLONE_VM | SIGCHLD | flags, NULL, NULL, NULL, &word);
        while (!up) {}
        kill(pid, SIGKILL);
        siginfo_t info;
        waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
        int before = work(); /* a zombie still */
        waitpid(pid, &status, 0);
        printf("%d %d %d %d\n", WTERMSIG(status), before, work(), word);
        free(stack);
    }
    return 0;
}
