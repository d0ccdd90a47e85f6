/* Send a signal to a thread once it sleeps in a certain system call: no test depends on how long anything takes. */
#ifndef SLEEPING_H
#define SLEEPING_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline void nap(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&t, &t) != 0) {}
}

/* The first argument of that call, if it matters: under a JIT a thread may sleep in a futex that is not the program's. */
static const void *sleeping_on;

/* The number of the call that a task sleeps in, -1 if it runs. */
static inline long call_of(pid_t tid) {
    char path[64], text[64] = {0};
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)tid);
    int fd = open(path, O_RDONLY);
    if (fd < 0) return -2;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    char *argument = n > 0 ? strchr(text, ' ') : 0;
    if (!argument || text[0] == 'r' || (sleeping_on && strtoul(argument, 0, 16) != (unsigned long)sleeping_on)) return -1;
    return atol(text);
}

/* A call of the runtime's own may have the same number; a sleep that lasts is the program's. */
static inline void wait_for_call(pid_t tid, long nr) {
    for (int seen = 0; seen < 3; nap(1)) seen = call_of(tid) == nr ? seen + 1 : 0;
}
#endif
