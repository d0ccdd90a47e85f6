/* What is left of a sleep is told if a signal ends it, and not of one until a given time. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile int count;

static void woken(int sig) { (void)sig; }

static void look(const struct timespec *left) {
    if (left->tv_sec == 5) count++;
    if (left->tv_nsec == 7) count++;
}

static void soon(void) {
    const struct timespec again = {0, 20000000};
    struct itimerspec wait = {again, again}; /* again and again: the first one may come before the sleep */
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &wait, NULL);
}

int main(void) {
    const struct timespec moment = {0, 1000}, longer = {60, 0};
    struct timespec then, *left[5];
    for (int i = 0; i < 5; i++) left[i] = malloc(sizeof *left[i]);
    nanosleep(&moment, left[0]);
    look(left[0]);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, left[1]);
    look(left[1]);
    signal(SIGUSR1, woken);
    soon();
    if (nanosleep(&longer, left[2]) != -1 || errno != EINTR) return 1;
    look(left[2]);
    if (clock_nanosleep(CLOCK_MONOTONIC, 0, &longer, left[3]) != EINTR) return 2;
    look(left[3]);
    clock_gettime(CLOCK_MONOTONIC, &then);
    then.tv_sec += 60;
    if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, left[4]) != EINTR) return 3;
    look(left[4]);
    signal(SIGUSR1, SIG_IGN);
    for (int i = 0; i < 5; i++) free(left[i]);
    return 0;
}
