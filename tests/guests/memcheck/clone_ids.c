/* Where clone writes ids is tested where the flags have it written, by the call itself, and defined in parent and child. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void make(unsigned long flags, int *parents, int *childs) {
    long pid = syscall(SYS_clone, flags | SIGCHLD, 0, parents, childs, 0);
    if (pid == 0) _exit(0);
    if (pid > 0) waitpid((int)pid, NULL, 0);
}

int main(void) {
    int *ids = malloc(2 * sizeof *ids), sum = 0;
    make(0, ids + 2, ids + 3);                     /* nothing is written */
    make(CLONE_PARENT_SETTID, ids, ids + 3);
    make(CLONE_PARENT_SETTID, ids + 2, ids + 3);   /* the parent's alone */
    make(CLONE_CHILD_SETTID, ids + 2, ids + 3);    /* the child's alone */
    make(CLONE_CHILD_CLEARTID, ids + 2, ids + 3);
    if (ids[0] > 0) sum++;  /* defined */
    if (ids[1] > 0) sum++;  /* not */
    free(ids);
    return sum > 5;
}
