/* A child that shares memory is killed while it has all translations dropped, and leaves that half done.  Whoever comes
 * next finishes it: before, they all waited for one who was no more. */
// modes: evict-always evict-always-memcheck
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int calls;
static char stack[65536];

static int run(void *arg) {
    (void)arg;
    for (;;) {
        syscall(SYS_getppid);
        calls++;
    }
    return 0;
}

/* Its maker waits in the kernel meanwhile: one who runs holds a flush up. */
static void kill_all(int from) {
    int pid;
    while (read(from, &pid, sizeof pid) == sizeof pid) {
        usleep(3000);
        kill(pid, SIGKILL);
    }
    _exit(0);
}

int main(void) {
    int killed = 0, ends[2], status;
    pipe(ends);
    if (fork() == 0) {
        close(ends[1]);
        kill_all(ends[0]);
    }
    for (int i = 0; i < 25; i++) {
        calls = 0;
        int pid = clone(run, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
        while (calls < 3) {}
        write(ends[1], &pid, sizeof pid);
        waitpid(pid, &status, 0);
        killed += WTERMSIG(status) == SIGKILL;
    }
    close(ends[1]);
    wait(&status);
    printf("%d\n", killed);
    return 0;
}
