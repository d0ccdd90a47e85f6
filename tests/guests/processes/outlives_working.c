/* A child on its parent's memory that goes on for long after its parent's end, and has a child of its own then. */
// modes: none memcheck callgrind trace-children caches jumps datagrind memtrace
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int maker, up[2];
static volatile unsigned words[1000];

static __attribute__((noinline)) unsigned fibonacci(unsigned n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

/* Hundreds of kilobytes of records, and functions that nobody has called before. */
static void works(const char *name) {
    unsigned sum = 0;
    for (int n = 0; n < 300; n++)
        for (int i = 0; i < 1000; i++) words[i] = sum += words[i] + i;
    dprintf(1, "%s: %u, %u, %.3f\n", name, sum, fibonacci(20), atof("1.5") * sum);
}

static int lives_on(void *arg) {
    (void)arg;
    write(up[1], "u", 1);
    while (getppid() == maker) usleep(1000);
    works("child");
    pid_t p = fork();
    if (p == 0) {
        works("grandchild");
        _exit(4);
    }
    int status;
    waitpid(p, &status, 0);
    works("child again");
    return 3 + WEXITSTATUS(status);
}

int main(void) {
    char byte;
    int status;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pipe(up);
    pid_t p = fork();
    if (p == 0) {
        char *stack = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        maker = getpid();
        clone(lives_on, stack + (1 << 18), CLONE_VM | SIGCHLD, NULL);
        read(up[0], &byte, 1);
        exit(7);
    }
    waitpid(p, &status, 0);
    int first = WEXITSTATUS(status);
    wait(&status);
    printf("%d, %d\n", first, WEXITSTATUS(status));
    return 0;
}
