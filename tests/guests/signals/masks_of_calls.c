// flags: -pthread
/* Masks given with a call: what they block waits, what they unblock is delivered, and the frame holds the old mask.
 * The signals that instructions raise are no exception when they are sent. */
#include "sleeping.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <ucontext.h>

static const int signals[] = {SIGUSR1, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, 40};
enum { N = sizeof signals / sizeof *signals };
static int epoll, idle[2];
static volatile int hits, depth;

static unsigned long bits(const sigset_t *s) { unsigned long b; memcpy(&b, s, 8); return b; }

static void handler(int sig, siginfo_t *si, void *context) {
    ucontext_t *uc = context;
    sigset_t now;
    sigprocmask(SIG_BLOCK, 0, &now);
    hits++;
    printf("  %shandler %d code %d, frame mask %lx, mask %lx\n", depth ? "nested " : "", sig, si->si_code,
           bits(&uc->uc_sigmask), bits(&now));
}

static long wait_pselect(const sigset_t *m) { struct timespec t = {0, 50000000}; return pselect(0, 0, 0, 0, &t, m); }
static long wait_ppoll(const sigset_t *m) { struct timespec t = {0, 50000000}; return ppoll(0, 0, &t, m); }
static long wait_epoll(const sigset_t *m) { struct epoll_event e; return epoll_pwait(epoll, &e, 1, 50, m); }
static long wait_epoll2(const sigset_t *m) {
    struct epoll_event e;
    struct timespec t = {0, 50000000};
    return syscall(SYS_epoll_pwait2, epoll, &e, 1, &t, m, 8);
}
static long wait_suspend(const sigset_t *m) { return sigsuspend(m); }

static const struct { const char *name; long (*call)(const sigset_t *); } waits[] = {
    {"pselect", wait_pselect}, {"ppoll", wait_ppoll}, {"epoll_pwait", wait_epoll}, {"epoll_pwait2", wait_epoll2},
    {"sigsuspend", wait_suspend},
};

static long late_pselect(const sigset_t *m) {
    fd_set f;
    FD_ZERO(&f);
    FD_SET(idle[0], &f);
    return pselect(idle[0] + 1, &f, 0, 0, 0, m);
}
static long late_ppoll(const sigset_t *m) { struct pollfd p = {idle[0], POLLIN, 0}; return ppoll(&p, 1, 0, m); }
static long late_epoll(const sigset_t *m) { struct epoll_event e; return epoll_pwait(epoll, &e, 1, -1, m); }
static long late_epoll2(const sigset_t *m) { struct epoll_event e; return syscall(SYS_epoll_pwait2, epoll, &e, 1, 0, m, 8); }
static const struct { const char *name; long nr; long (*call)(const sigset_t *); } late[] = {
    {"pselect", SYS_pselect6, late_pselect}, {"ppoll", SYS_ppoll, late_ppoll},
    {"epoll_pwait", SYS_epoll_pwait, late_epoll}, {"epoll_pwait2", SYS_epoll_pwait2, late_epoll2},
};

static pid_t main_tid;
static int late_signal;
static long late_call;
static void *sender(void *unused) {
    (void)unused;
    wait_for_call(main_tid, late_call);
    tgkill(getpid(), main_tid, late_signal);
    nap(3);
    wait_for_call(main_tid, late_call);
    write(idle[1], "x", 1);
    return 0;
}

int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    main_tid = gettid();
    pipe(idle);
    epoll = epoll_create1(0);
    struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigset_t all, none;
    sigemptyset(&none);
    sigemptyset(&all);
    for (int i = 0; i < N; i++) {
        sigaction(signals[i], &sa, 0);
        sigaddset(&all, signals[i]);
    }
    sigprocmask(SIG_SETMASK, &all, 0);
    for (unsigned w = 0; w < sizeof waits / sizeof *waits; w++) {
        for (int i = 0; i < N; i++) {
            printf("%s: pending %d, then unblocked by the call\n", waits[w].name, signals[i]);
            raise(signals[i]);
            errno = 0;
            long r = waits[w].call(&none);
            printf("  result %ld %s\n", r, strerrorname_np(errno));
        }
        printf("%s: all at once\n", waits[w].name);
        for (int i = 0; i < N; i++) kill(getpid(), signals[i]);
        hits = 0;
        errno = 0;
        long r = waits[w].call(&none);
        printf("  result %ld %s, %d handlers\n", r, strerrorname_np(errno), hits);
        sigset_t left;
        sigpending(&left);
        printf("  still pending %lx\n", bits(&left));
        sigset_t some = all;
        sigdelset(&some, SIGUSR1);
        sigdelset(&some, SIGSEGV);
        raise(SIGSEGV);
        raise(SIGUSR1);
        raise(SIGBUS);
        r = waits[w].call(&some);
        sigpending(&left);
        printf("%s: partly: result %ld, pending %lx\n", waits[w].name, r, bits(&left));
        r = waits[w].call(&none);
    }
    puts("blocked by the call, sent meanwhile");
    sigprocmask(SIG_SETMASK, &none, 0);
    struct epoll_event ev = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, idle[0], &ev);
    for (int w = 0; w < 4; w++)
        for (int i = 0; i < N; i++) {
            pthread_t t;
            char c;
            late_signal = signals[i];
            late_call = late[w].nr;
            sigprocmask(SIG_SETMASK, &all, 0);
            pthread_create(&t, 0, sender, 0);
            sigprocmask(SIG_SETMASK, &none, 0);
            hits = 0;
            errno = 0;
            long r = late[w].call(&all);
            printf("%s %d: result %ld errno %d, handled %d\n", late[w].name, signals[i], r, errno, hits);
            read(idle[0], &c, 1);
            pthread_join(t, 0);
        }
    return 0;
}
