/* clone with a stack and flags of one's own. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static int shared;
static int child(void *arg) {
    shared += *(int *)arg;
    return 3;
}
int main(void) {
    char *stack = malloc(65536);
    int add = 40, st, tid = -1;
    pid_t p = clone(child, stack + 65536, CLONE_VM | SIGCHLD, &add);
    waitpid(p, &st, 0);
    printf("vm: shared %d status %d\n", shared, WEXITSTATUS(st));
    p = clone(child, stack + 65536, SIGCHLD, &add);
    waitpid(p, &st, 0);
    printf("copy: shared %d status %d\n", shared, WEXITSTATUS(st));
    p = clone(child, stack + 65536, CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_CHILD_CLEARTID | SIGCHLD, &add, 0, 0, &tid);
    waitpid(p, &st, 0);
    printf("cleared %d shared %d\n", tid, shared);
    p = (pid_t)syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
    if (!p) _exit(6);
    waitpid(p, &st, 0);
    printf("vfork flag %d\n", WEXITSTATUS(st));
    return 0;
}
