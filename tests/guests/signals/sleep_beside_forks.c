// flags: -pthread
/* Sleeps of one thread last as long as asked while another one makes processes. */
#include "sleeping.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/wait.h>

static volatile int quit;
static void *forker(void *unused) {
    (void)unused;
    while (!quit) {
        pid_t p = fork();
        if (p == 0) _exit(0);
        waitpid(p, 0, 0);
        nap(30);
    }
    return 0;
}
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
/* The SIGCHLD of a child that ends while its parent's thread still has all signals blocked, as inside fork, goes to
 * another thread. That throws it away, but the kernel does not begin its epoll_wait anew: signal(7). */
static long wait_for_events(int e) {
    struct epoll_event ev;
    long r;
    do
        r = epoll_wait(e, &ev, 1, 400);
    while (r < 0 && errno == EINTR);
    if (r == 0) errno = 0;
    return r;
}
int main(void) {
    pthread_t t;
    int fds[2], e = epoll_create1(0);
    struct timespec ts = {0, 400000000};
    pipe(fds);
    struct pollfd p = {fds[0], POLLIN, 0};
    pthread_create(&t, 0, forker, 0);
    for (int i = 0; i < 3; i++) {
        double a = now();
        errno = 0;
        long r = i == 0 ? nanosleep(&ts, 0) : i == 1 ? poll(&p, 1, 400) : wait_for_events(e);
        double slept = now() - a;
        printf("%d: result %ld errno %d, slept %s\n", i, r, errno, slept < .4 ? "too little" : slept > 10 ? "too long" : "right");
        fflush(stdout);
    }
    quit = 1;
    pthread_join(t, 0);
    return 0;
}
