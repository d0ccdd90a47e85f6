/* Signals for a child that is about to end, after its last own instruction
 * (multiprocessing.Pool): it ends. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void handler(int sig) { (void)sig; }

int main(void) {
    int ended = 0, status;
    signal(SIGTERM, handler);
    for (int i = 0; i < 12; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(3);
        struct timespec pause = {0, 100000};
        while (waitpid(pid, &status, WNOHANG) == 0) {
            kill(pid, SIGTERM);
            nanosleep(&pause, NULL);
        }
        ended += WIFEXITED(status) && WEXITSTATUS(status) == 3;
    }
    printf("%d\n", ended);
    return 0;
}
