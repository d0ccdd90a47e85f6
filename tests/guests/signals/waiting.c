// flags: -pthread
/* sigwaitinfo, sigtimedwait, signalfd: queued signals in order, with their values; sent faults among them. */
#include "sleeping.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

static void show(int r, const siginfo_t *si) {
    if (r < 0) printf("  errno %d\n", errno);
    else printf("  %d code %d value %d\n", r, si->si_code, si->si_code == SI_QUEUE ? si->si_value.sival_int : -1);
}
static pid_t main_tid;
static int to_send;
static long while_in;
static void *late(void *unused) {
    (void)unused;
    wait_for_call(main_tid, while_in);
    union sigval v = {.sival_ptr = 0};
    v.sival_int = 9;
    sigqueue(getpid(), to_send, v);
    return 0;
}
static void *late_directed(void *unused) {
    (void)unused;
    wait_for_call(main_tid, while_in);
    tgkill(getpid(), main_tid, to_send);
    return 0;
}
static void handler(int sig) { printf("handler %d\n", sig); }

int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    main_tid = gettid();
    sigset_t s, p;
    siginfo_t si;
    static const int used[] = {SIGUSR1, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGCHLD, 34 + 2, 34 + 4};
    enum { N = sizeof used / sizeof *used };
    sigemptyset(&s);
    for (int i = 0; i < N; i++) {
        signal(used[i], handler);
        sigaddset(&s, used[i]);
    }
    sigprocmask(SIG_BLOCK, &s, 0);
    union sigval v = {.sival_ptr = 0};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < N; i++) {
            v.sival_int = k * 100 + i;
            sigqueue(getpid(), used[i], v);
        }
    sigpending(&p);
    for (int i = 0; i < N; i++) printf("pending %d: %d\n", used[i], sigismember(&p, used[i]));
    puts("sigwaitinfo");
    struct timespec none = {0, 0};
    for (;;) {
        int r = sigtimedwait(&s, &si, &none);
        show(r, &si);
        if (r < 0) break;
    }
    puts("sent meanwhile");
    for (int i = 0; i < N; i++) {
        pthread_t t;
        to_send = used[i];
        while_in = SYS_rt_sigtimedwait;
        pthread_create(&t, 0, i & 1 && used[i] > SIGTERM ? late : late_directed, 0);
        show(sigwaitinfo(&s, &si), &si);
        pthread_join(t, 0);
    }
    puts("a handler ends the wait");
    sigset_t two = s;
    sigdelset(&two, SIGUSR1);
    sigset_t unblock;
    sigemptyset(&unblock);
    sigaddset(&unblock, SIGUSR1);
    pthread_t t;
    to_send = SIGUSR1;
    pthread_create(&t, 0, late_directed, 0);
    sigprocmask(SIG_UNBLOCK, &unblock, 0);
    show(sigwaitinfo(&two, &si), &si);
    sigprocmask(SIG_BLOCK, &unblock, 0);
    pthread_join(t, 0);

    puts("signalfd");
    int fd = signalfd(-1, &s, SFD_NONBLOCK | SFD_CLOEXEC);
    struct pollfd pf = {fd, POLLIN, 0};
    struct signalfd_siginfo fi;
    printf("ready %d\n", poll(&pf, 1, 0));
    for (int i = 0; i < N; i++) {
        v.sival_int = i;
        sigqueue(getpid(), used[i], v);
        printf("ready %d", poll(&pf, 1, 0));
        long r = read(fd, &fi, sizeof fi);
        printf(" read %ld: %u code %d value %d\n", r, r > 0 ? fi.ssi_signo : 0, r > 0 ? fi.ssi_code : 0, r > 0 ? fi.ssi_int : 0);
    }
    raise(SIGSEGV);
    raise(SIGTRAP);
    long r = read(fd, &fi, sizeof fi);
    printf("raised: %ld %u\n", r, fi.ssi_signo);
    r = read(fd, &fi, sizeof fi);
    printf("raised: %ld %u\n", r, fi.ssi_signo);
    r = read(fd, &fi, sizeof fi);
    printf("empty: %ld errno %d\n", r, errno);
    puts("a sleeping reader");
    fcntl(fd, F_SETFL, 0);
    for (int i = 0; i < N; i++) {
        to_send = used[i];
        while_in = SYS_read;
        pthread_create(&t, 0, late_directed, 0);
        r = read(fd, &fi, sizeof fi);
        printf("read %ld: %u\n", r, fi.ssi_signo);
        pthread_join(t, 0);
    }
    puts("a sleeping poll");
    for (int i = 0; i < N; i++) {
        to_send = used[i];
        while_in = SYS_poll;
        pthread_create(&t, 0, used[i] > SIGTERM ? late : late_directed, 0);
        printf("poll %d", poll(&pf, 1, -1));
        r = read(fd, &fi, sizeof fi);
        printf(" read %ld: %u\n", r, fi.ssi_signo);
        pthread_join(t, 0);
    }
    puts("a blocked signal does not wake a sleep");
    for (int i = 0; i < N; i++) {
        struct timespec a, b, ts = {0, 30000000};
        to_send = used[i];
        while_in = SYS_clock_nanosleep;
        clock_gettime(CLOCK_MONOTONIC, &a);
        raise(used[i]);
        int e = clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, 0);
        clock_gettime(CLOCK_MONOTONIC, &b);
        long us = (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000;
        printf("%d: %d slept %d\n", used[i], e, us >= 30000);
    }
    puts("unblocked at last");
    sigprocmask(SIG_UNBLOCK, &s, 0);
    return 0;
}
