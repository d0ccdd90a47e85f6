/* limited_files BYTES: lets its files grow to so many bytes and no further, works, and writes one byte too many. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile int met;
static void count(int sig) { met += sig == SIGXFSZ; }

int main(int argc, char **argv) {
    rlim_t bytes = strtoul(argv[1], NULL, 10);
    struct rlimit limit = {bytes, bytes}, now;
    char name[] = "limited-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    signal(SIGXFSZ, count);
    if (setrlimit(RLIMIT_FSIZE, &limit)) return 1;
    static volatile unsigned words[1 << 12];
    unsigned state = 1;
    for (int i = 0; i < 500000; i++) {
        state = state * 1664525 + 1013904223;
        words[state >> 20] += state & 1 ? 1 : words[i % 4096];
    }
    int signals = met;
    getrlimit(RLIMIT_FSIZE, &now);
    errno = 0;
    long n = pwrite(file, "xy", 2, (off_t)bytes);
    printf("%d %ld %s %d %d\n", signals, n, strerror(errno), met, now.rlim_cur == bytes && now.rlim_max == bytes);
    return 5;
}
