#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    pid_t self = getpid(), child = fork();
    if (!child) {
        usleep(300000);
        kill(self, SIGUSR1);
        _exit(0);
    }
    sigset_t set;
    int sig = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, 0);
    sigwait(&set, &sig);
    return sig;
}
