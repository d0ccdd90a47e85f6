/* Of a standard signal that is sent twice while it is blocked the first is kept, also of those that faults raise. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGUSR1};
static volatile int got, value, code;

static void handler(int sig, siginfo_t *si, void *context) {
    (void)context;
    got = got * 100 + sig;
    value = si->si_value.sival_int;
    code = si->si_code;
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    volatile int *done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int i = 0; i < 6; i++) {
        int sig = signals[i];
        sigset_t set, pending;
        sigaction(sig, &sa, NULL);
        sigemptyset(&set);
        sigaddset(&set, sig);
        got = value = 0;
        sigprocmask(SIG_BLOCK, &set, NULL);
        for (int v = 1; v <= 3; v++) sigqueue(getpid(), sig, (union sigval){.sival_int = v * 11});
        sigpending(&pending);
        printf("%d: pending %d", sig, sigismember(&pending, sig));
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        printf(" got %d value %d code %d\n", got, value, code);

        sigprocmask(SIG_BLOCK, &set, NULL);
        for (int v = 4; v <= 5; v++) sigqueue(getpid(), sig, (union sigval){.sival_int = v * 11});
        siginfo_t info = {0};
        int first = sigwaitinfo(&set, &info);
        struct timespec none = {0, 0};
        int second = sigtimedwait(&set, &info, &none);
        printf("  waited %d value %d, then %d\n", first, info.si_value.sival_int, second);
        /* From another process, while this one makes no system call. */
        *done = 0;
        got = 0;
        pid_t child = fork();
        if (child == 0) {
            for (int v = 6; v <= 8; v++) {
                sigqueue(getppid(), sig, (union sigval){.sival_int = v * 11});
                usleep(4000);
            }
            *done = 1;
            _exit(0);
        }
        while (!*done) {}
        for (volatile int k = 0; k < 100000; k++) {}
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        printf("  from outside %d value %d\n", got, value);
        waitpid(child, NULL, 0);
    }
    return 0;
}
