// flags: -lm
/* A fast timer under a numeric loop: not a bit of the result may change.  SA_RESTART and EINTR. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks, tell = -1;
static void tick(int sig) {
    (void)sig;
    ticks++;
    if (tell >= 0 && write(tell, "t", 1) == 1) tell = -1;
}

static uint64_t work(double *sum) {
    uint64_t h = 88172645463325252ull;
    double s = 0;
    long double l = 1;
    for (int i = 1; i < 400000; i++) {
        h ^= h << 13;
        h ^= h >> 7;
        h ^= h << 17;
        s += sqrt((double)(h >> 11)) / i;
        l = l * 1.0000001L + (long double)(h & 0xff);
    }
    *sum = s + (double)l;
    return h;
}

int main(void) {
    double a, b;
    uint64_t x = work(&a), y;
    struct sigaction sa = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &sa, 0);
    struct itimerval it = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &it, 0);
    int same = 1, rounds = 0;
    while (ticks < 200 && rounds < 400) {
        y = work(&b);
        same &= x == y && memcmp(&a, &b, sizeof a) == 0;
        rounds++;
    }
    printf("same %d ticked %d\n", same, ticks > 0);
    int p[2], q[2];
    if (pipe(p) || pipe(q)) return 1;
    pid_t c = fork();
    if (!c) {
        char told; /* the other one has had a tick, however late it came to its read */
        if (read(q[0], &told, 1) != 1) _exit(1);
        struct timespec ts = {0, 30000000};
        while (nanosleep(&ts, &ts)) {}
        if (write(p[1], "x", 1) != 1) _exit(1);
        _exit(0);
    }
    char ch;
    ticks = 0;
    tell = q[1];
    ssize_t n = read(p[0], &ch, 1);
    printf("restarted read %zd ticked %d\n", n, ticks > 0);
    waitpid(c, 0, 0);
    sa.sa_flags = 0;
    sigaction(SIGALRM, &sa, 0);
    n = read(p[0], &ch, 1);
    printf("interrupted read %zd %d\n", n, errno == EINTR);
    return 0;
}
