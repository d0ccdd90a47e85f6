#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
volatile int ended;
void on(int n) { ended = n == SIGUSR2; }
int main(void) {
    int pipes[2];
    struct sigaction a = {.sa_handler = on};
    struct timespec t = {1, 0}, begin, end;
    pid_t me = getpid();
    sigset_t none, last;
    char c;
    sigaction(SIGUSR1, &a, 0);
    sigaction(SIGUSR2, &a, 0);
    sigemptyset(&none);
    sigemptyset(&last);
    sigaddset(&last, SIGUSR2);
    sigprocmask(SIG_BLOCK, &last, 0);
    pipe(pipes);
    if (!fork()) {
        for (int i = 0; i < 20; i++) {
            usleep(150000);
            kill(me, i % 2 ? SIGUSR1 : SIGWINCH);
        }
        kill(me, SIGUSR2);
        write(pipes[1], "x", 1);
        _exit(0);
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    printf("nanosleep %d\n", nanosleep(&t, 0));
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9 < 1) puts("too short");
    struct pollfd p = {pipes[0], POLLIN};
    printf("poll %d\n", poll(&p, 1, 500));
    sigsuspend(&none);
    printf("sigsuspend and read %d\n", ended ? (int)read(pipes[0], &c, 1) : -2);
    return 0;
}
