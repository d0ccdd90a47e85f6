/* A child whose stack begins below its maker's stack pointer, as criu makes them. What clone(3) stores there is an
 * invalid write, once; the function and its argument are defined, and all that the child makes of them.
 * @expect: Invalid write of size 8 at clone
 * @expect: Invalid write of size 8 at clone
 * @expect: Invalid write of size 8 at clone
 * @expect: Invalid write of size 8 at clone
 * @expect: Conditional jump or move depends on uninitialised value(s) at main */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static int deep(int n, const char *word) {
    char text[200];
    struct {
        char all[3000];
        int used;
    } copy;
    memset(&copy, 0, sizeof copy);
    snprintf(text, sizeof text, "%s-%d", word, n);
    copy.used = (int)strlen(text);
    if (n > 0) copy.used += deep(n - 1, text);
    return copy.used > 7 ? copy.used : 7;
}

static int child(void *word) { _exit(deep(3, word)); }

__attribute__((noinline)) static void run(int flags, char *word) {
    char here;
    int status;
    void *stack = (void *)(((unsigned long)&here - 1024) & -16ul);
    pid_t pid = clone(child, stack, flags | SIGCHLD, word);
    waitpid(pid, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
}

int main(void) {
    char word[] = "hello";
    run(0, word);
    run(CLONE_VM | CLONE_VFORK, word);
    printf("%d\n", deep(2, word));
    int *undefined = malloc(4);
    if (*undefined == 3) puts("three");
    free(undefined);
    return 0;
}
