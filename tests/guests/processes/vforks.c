/* vfork: the child runs on its parent's memory and stack, with descriptors and signal actions of its own. */
// errors: yes
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int seen;
static void handler(int sig) { seen += sig; }

static int status_of(pid_t pid) {
    int st = -1;
    if (waitpid(pid, &st, 0) != pid) return -errno;
    return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
}

int main(void) {
    volatile int local = 1;
    char *heap = strdup("before");
    setvbuf(stdout, NULL, _IONBF, 0);
    pid_t p = vfork();
    if (p == 0) {
        local = 2;
        strcpy(heap, "after");
        close(0);
        signal(SIGUSR1, handler);
        _exit(3);
    }
    struct sigaction act;
    sigaction(SIGUSR1, NULL, &act);
    printf("%d local %d heap %s descriptor %d handler %d\n", status_of(p), local, heap, fcntl(0, F_GETFD) >= 0, act.sa_handler == handler);
    /* The child allocates; the block stays with the parent. */
    char *volatile made = NULL;
    p = vfork();
    if (p == 0) {
        made = malloc(1000);
        memset(made, 7, 1000);
        _exit(4);
    }
    printf("%d block %d\n", status_of(p), made[999]);
    free(made);
    /* Signals to and in the child. */
    signal(SIGUSR1, handler);
    p = vfork();
    if (p == 0) {
        raise(SIGUSR1);
        _exit(5);
    }
    printf("%d seen %d\n", status_of(p), seen == SIGUSR1);
    p = vfork();
    if (p == 0) {
        raise(SIGKILL);
        _exit(5);
    }
    printf("killed %d\n", status_of(p));
    p = vfork();
    if (p == 0) {
        *(volatile int *)16 = 1;
        _exit(5);
    }
    printf("fault %d\n", status_of(p));
    p = vfork();
    if (p == 0) abort();
    printf("abort %d\n", status_of(p));
    /* A child of the child. */
    p = vfork();
    if (p == 0) {
        pid_t q = vfork();
        if (q == 0) _exit(6);
        int st;
        waitpid(q, &st, 0);
        _exit(WEXITSTATUS(st) + 1);
    }
    printf("nested %d\n", status_of(p));
    p = vfork();
    if (p == 0) {
        pid_t q = fork();
        if (q == 0) _exit(8);
        int st;
        waitpid(q, &st, 0);
        _exit(WEXITSTATUS(st) + 1);
    }
    printf("fork in vfork %d\n", status_of(p));
    /* A failing exec, then another one. */
    p = vfork();
    if (p == 0) {
        execl("/absent", "x", NULL);
        if (errno != ENOENT) _exit(1);
        execl("/bin/sh", "sh", "-c", "exit 10", NULL);
        _exit(2);
    }
    printf("second exec %d\n", status_of(p));
    for (int i = 0; i < 50; i++) {
        p = vfork();
        if (p == 0) _exit(i);
        if (status_of(p) != i) printf("wrong status\n");
    }
    free(heap);
    return 0;
}
