#define _GNU_SOURCE
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define LENGTH 10
#define KINDS 8
int word;
volatile double resumed;
double took[KINDS], late[KINDS];
double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static void *sleeps(void *kind) {
    struct timespec t = {LENGTH, 0};
    struct timeval v = {LENGTH, 0};
    struct epoll_event event;
    sigset_t none;
    int epoll = epoll_create1(0), which = (long)kind;
    sigemptyset(&none);
    double begin = now();
    switch (which) {
    case 0: nanosleep(&t, NULL); break;
    case 1: clock_nanosleep(CLOCK_REALTIME, 0, &t, NULL); break;
    case 2: poll(NULL, 0, LENGTH * 1000); break;
    case 3: select(0, NULL, NULL, NULL, &v); break;
    case 4: epoll_wait(epoll, &event, 1, LENGTH * 1000); break;
    case 5: syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t, NULL, 0); break;
    case 6: sigtimedwait(&none, NULL, &t); break;
    case 7: ppoll(NULL, 0, &t, NULL); break;
    }
    double end = now();
    took[which] = end - begin;
    late[which] = end - resumed;
    return NULL;
}
int main(void) {
    pthread_t threads[KINDS];
    for (long i = 0; i < KINDS; i++) pthread_create(&threads[i], NULL, sleeps, (void *)i);
    for (int i = 0; i < KINDS; i++) pthread_join(threads[i], NULL);
    int bad = 0;
    for (int i = 0; i < KINDS; i++)
        if (took[i] < LENGTH - 0.1 || late[i] >= LENGTH) {
            printf("kind %d: %.2f s, %.2f s of them after the stop\n", i, took[i], late[i]);
            bad = 1;
        }
    return bad;
}
