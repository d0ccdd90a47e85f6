/* Dumps, zeroing, collecting and instrumentation by request; a handler; threads; a child. */
#include <interpose/callgrind.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) void leaf(void) { __asm__ volatile("nop; nop; nop"); }
__attribute__((noinline)) void times(int n) {
    for (volatile int i = 0; i < n; i++) leaf();
}
__attribute__((noinline)) void handler(int s) {
    (void)s;
    times(5);
}
__attribute__((naked)) void becomes(int s) {
    (void)s;
    __asm__("jmp handler");
}
__attribute__((noinline)) void interrupted(void) {
    times(2);
    raise(SIGUSR1);
    times(2);
}
static pthread_barrier_t both; /* the second would have the number of the first, had that ended */
static void *thread(void *n) {
    pthread_barrier_wait(&both);
    times((int)(long)n);
    return 0;
}

static volatile int stopped;
static void stop(int sig) {
    (void)sig;
    stopped = 1;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    times(10);
    if (!strcmp(what, "dump")) {
        INTERPOSE_CALLGRIND_DUMP_STATS_AT("half");
        times(20);
    } else if (!strcmp(what, "zero")) {
        INTERPOSE_CALLGRIND_ZERO_STATS;
        times(3);
    } else if (!strcmp(what, "collect")) {
        INTERPOSE_CALLGRIND_TOGGLE_COLLECT;
        times(100);
        INTERPOSE_CALLGRIND_TOGGLE_COLLECT;
        times(1);
    } else if (!strcmp(what, "off")) {
        INTERPOSE_CALLGRIND_STOP_INSTRUMENTATION;
        times(100);
        INTERPOSE_CALLGRIND_START_INSTRUMENTATION;
        times(4);
    } else if (!strcmp(what, "signal") || !strcmp(what, "jump")) {
        signal(SIGUSR1, *what == 's' ? handler : becomes);
        interrupted();
    } else if (!strcmp(what, "threads")) {
        pthread_t one, two;
        pthread_barrier_init(&both, 0, 2);
        pthread_create(&one, 0, thread, (void *)1000);
        pthread_create(&two, 0, thread, (void *)2000);
        pthread_join(one, 0);
        pthread_join(two, 0);
    } else if (!strcmp(what, "wait")) {
        char c;
        for (write(1, "?", 1); read(0, &c, 1) == 1; write(1, "?", 1)) times(6);
    } else if (!strcmp(what, "spin")) {
        signal(SIGUSR1, stop);
        write(1, "?", 1);
        while (!stopped) leaf();
    } else if (!strcmp(what, "ask")) {
        write(1, "?", 1);
        for (;;) INTERPOSE_CALLGRIND_ZERO_STATS;
    } else if (!strcmp(what, "exec")) {
        execl("/nonexistent", "nothing", (char *)0);
        times(1);
        execl(argv[2], argv[2], argv[3], (char *)0);
    } else if (!strcmp(what, "fork-exec")) {
        if (!fork()) execl(argv[2], argv[2], argv[3], (char *)0);
        wait(0);
    } else if (!strcmp(what, "fork")) {
        if (!fork()) {
            times(7);
            _exit(0);
        }
        wait(0);
    }
    return 0;
}
