/* A process group gets a signal while its one process forks (natively: before or after, which is the same here). */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int *state; /* 1: about to fork, 2: the child ran */
static int alive[2];        /* open in whoever is */

static void nap(int ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000l}, NULL); }

static int forks(void) {
    setpgid(0, 0);
    state[0] = 1;
    pid_t p = fork();
    if (p == 0) {
        nap(1000); /* its group's signal, if it has it, is there by now */
        state[0] = 2;
        _exit(0);
    }
    waitpid(p, NULL, 0);
    return 5;
}

int main(int argc, char **argv) {
    int sig = argc > 1 && strcmp(argv[1], "stops") == 0 ? SIGTSTP : SIGTERM, status;
    state = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pipe(alive)) return 1;
    pid_t p = fork();
    if (p == 0) _exit(forks());
    close(alive[1]);
    while (state[0] == 0) nap(1);
    nap(50);
    kill(-p, sig);
    waitpid(p, &status, WUNTRACED);
    char byte;
    if (WIFSTOPPED(status))
        nap(1500);
    else
        read(alive[0], &byte, 1);
    const char *child = state[0] == 2 ? "a child" : "no child";
    if (WIFSTOPPED(status)) {
        printf("stopped by %d, %s\n", WSTOPSIG(status), child);
        kill(-p, SIGCONT);
        waitpid(p, &status, 0);
        printf("exit %d\n", WEXITSTATUS(status));
    } else {
        printf("ended by %d, %s\n", WTERMSIG(status), child);
    }
    return 0;
}
