/* SIGKILL to oneself by each call that names a process or thread: what was lost is told before.
 * @options: --leak-check=full */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void lose(int size) {
    char *volatile block = malloc(size);
    block = NULL;
}

int main(void) {
    free(malloc(1));
    if (fork() == 0) {
        lose(10);
        kill(getpid(), SIGKILL);
    }
    wait(NULL);
    if (fork() == 0) {
        lose(20);
        syscall(SYS_tkill, getpid(), SIGKILL);
    }
    wait(NULL);
    if (vfork() == 0) kill(getpid(), SIGKILL); /* its parent's heap is looked at when that ends */
    wait(NULL);
    kill(getpid(), 0);
    kill(-1234567, SIGKILL); /* nobody's */
    syscall(SYS_tgkill, getpid(), 1, SIGKILL); /* not of this process */
    lose(30);
    syscall(SYS_tgkill, getpid(), getpid(), SIGKILL);
    return 0;
}
