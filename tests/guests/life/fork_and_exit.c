/* A thread forks (or executes, or makes a thread) while another one ends the process: it has happened before the end,
 * and then the child is whole, or it never happens. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *how;

static void *other(void *arg) {
    (void)arg;
    return NULL;
}

static void *leaves(void *arg) {
    if (strcmp(how, "fork") == 0) {
        if (fork() == 0) {
            dprintf(1, "child: first\n");
            dprintf(1, "child: second\n");
            _exit(3); /* exit's lock may be held by the thread that ends the process, natively, too */
        }
    } else if (strcmp(how, "vfork") == 0) {
        if (vfork() == 0) {
            dprintf(1, "child: first\n");
            dprintf(1, "child: second\n");
            _exit(3);
        }
    } else if (strcmp(how, "thread") == 0) {
        pthread_t t;
        pthread_create(&t, NULL, other, NULL);
    } else {
        execl("/bin/echo", "echo", "executed", NULL);
    }
    pause();
    return arg;
}

int main(int argc, char **argv) {
    int status;
    how = argc > 1 ? argv[1] : "fork";
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t p = fork();
    if (p == 0) {
        pthread_t t;
        pthread_create(&t, NULL, leaves, NULL);
        usleep(100000);
        _exit(7);
    }
    waitpid(p, &status, 0);
    if (WIFEXITED(status))
        dprintf(1, "parent: %d\n", WEXITSTATUS(status));
    else
        dprintf(1, "parent: signal %d\n", WTERMSIG(status));
    if (wait(&status) > 0) dprintf(1, "child: %s %d\n", WIFEXITED(status) ? "exit" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return 0;
}
