/* Two children of vfork execute, one after the other: which errors they met. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int spawn(void) {
    volatile int met = 0; /* written in the child, which shares our memory */
    pid_t pid = vfork();
    if (pid == 0) {
        execl("/bin/echo", "echo", "ran", (char *)0);
        met = errno;
        _exit(127);
    }
    waitpid(pid, NULL, 0);
    return met;
}

int main(void) {
    int met = spawn();
    printf("first %d\n", met);
    fflush(stdout);
    printf("second %d\n", spawn());
    return 0;
}
