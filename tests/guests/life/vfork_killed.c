/* A write behind a block by a child of vfork that executes something, one by the process, which is killed then. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    volatile char *block = malloc(4);
    block[5] = 1;
    if (!vfork()) {
        block[4] = 1;
        execl("/bin/true", "true", (char *)0);
        _exit(1);
    }
    wait(NULL);
    if (!fork()) {
        kill(getppid(), SIGKILL);
        _exit(0);
    }
    for (;;) pause();
}
