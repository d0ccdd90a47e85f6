#define _GNU_SOURCE
#include "corners.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void many_parts(long n) {
    static char data[1000];
    struct iovec parts[1000];
    int sink = open("/dev/null", O_WRONLY);
    for (int k = 0; k < 1000; k++) parts[k] = (struct iovec){data + k, 1};
    for (long i = 0; i < n; i++) must(writev(sink, parts, 1000) == 1000);
}

static void many_messages(long n) {
    static char data[1000];
    struct iovec parts[1000];
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 1000};
    int ends[2];
    must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    for (int k = 0; k < 1000; k++) parts[k] = (struct iovec){data + k, 1};
    for (long i = 0; i < n; i++) must(sendmsg(ends[0], &message, 0) == 1000 && recvmsg(ends[1], &message, 0) == 1000);
}

static void polls(long n) {
    struct pollfd all[1000];
    for (int k = 0; k < 1000; k++) all[k] = (struct pollfd){.fd = k % 3, .events = POLLPRI};
    for (long i = 0; i < n; i++) must(poll(all, 1000, 0) >= 0);
}

static void selects(long n) {
    for (long i = 0; i < n; i++) {
        fd_set set;
        struct timeval none = {0, 0};
        FD_ZERO(&set);
        FD_SET(0, &set);
        must(select(1, &set, 0, 0, &none) >= 0);
    }
}

static void epolls(long n) {
    struct epoll_event all[64];
    int poll = epoll_create1(0);
    for (int k = 0; k < 64; k++) {
        struct epoll_event one = {.events = EPOLLIN, .data.u32 = (unsigned)k};
        must(!epoll_ctl(poll, EPOLL_CTL_ADD, eventfd(1, 0), &one));
    }
    for (long i = 0; i < n; i++) {
        must(epoll_wait(poll, all, 64, 0) == 64);
        must(all[i % 64].events == EPOLLIN);
    }
}

static void positions(long n) {
    char place[4096];
    int file = open("/proc/self/exe", O_RDONLY);
    for (long i = 0; i < n; i++) must(pread(file, place, sizeof place, 0) == sizeof place && place[1] == 'E');
}

static void big_reads(long n) {
    char *place = malloc(1 << 20);
    int file = open("/dev/zero", O_RDONLY);
    for (long i = 0; i < n; i++) must(read(file, place, 1 << 20) == 1 << 20);
}

static void ioctls(long n) {
    int ends[2], there;
    must(!pipe(ends));
    for (long i = 0; i < n; i++) must(!ioctl(ends[0], FIONREAD, &there) && !there);
}

static void fcntls(long n) {
    for (long i = 0; i < n; i++) must(fcntl(0, F_GETFL) >= 0);
}

static void dups(long n) {
    for (long i = 0; i < n; i++) must(!close(dup(0)));
}

static void usages(long n) {
    struct rusage usage;
    for (long i = 0; i < n; i++) must(!getrusage(RUSAGE_SELF, &usage));
}

static void naps(long n) {
    struct timespec none = {0, 1};
    for (long i = 0; i < n; i++) nanosleep(&none, 0);
}

static void own_maps(long n) {
    char place[4096];
    for (long i = 0; i < n; i++) {
        int file = open("/proc/self/maps", O_RDONLY);
        while (read(file, place, sizeof place) > 0) {}
        close(file);
    }
}

static void own_status(long n) {
    char place[4096];
    for (long i = 0; i < n; i++) {
        int file = open("/proc/self/status", O_RDONLY);
        while (read(file, place, sizeof place) > 0) {}
        close(file);
    }
}

static void waits(long n) {
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, 0);
    for (long i = 0; i < n; i++) must(!kill(getpid(), SIGUSR1) && sigwaitinfo(&set, &info) == SIGUSR1);
}

static volatile sig_atomic_t met;
static void meet(int number) { met += number == SIGALRM; }

static void timers(long n) {
    struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct itimerspec soon = {{0, 0}, {0, 1}};
    timer_t timer;
    signal(SIGALRM, meet);
    must(!timer_create(CLOCK_MONOTONIC, &how, &timer));
    for (long i = 0; i < n; i++) {
        int before = met;
        must(!timer_settime(timer, 0, &soon, 0));
        while (met == before) {}
    }
}

static void *beside(void *stop) {
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) sched_yield();
    return 0;
}

static void thread_signals(long n) {
    static int stop;
    pthread_t thread;
    signal(SIGALRM, meet);
    must(!pthread_create(&thread, 0, beside, &stop));
    for (long i = 0; i < n; i++) {
        int before = met;
        pthread_kill(thread, SIGALRM);
        while (met == before) sched_yield();
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, 0);
}

static void masked(long n) {
    sigset_t set, old;
    signal(SIGALRM, meet);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    for (long i = 0; i < n; i++) {
        sigprocmask(SIG_BLOCK, &set, &old);
        kill(getpid(), SIGALRM);
        sigprocmask(SIG_SETMASK, &old, 0);
    }
    must(met == n);
}

static void alternate(long n) {
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    struct sigaction action = {.sa_handler = meet, .sa_flags = SA_ONSTACK};
    must(!sigaltstack(&stack, 0) && !sigaction(SIGALRM, &action, 0));
    for (long i = 0; i < n; i++) raise(SIGALRM);
}

static char *page;

static void mend(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    must(!mprotect((char *)((unsigned long)info->si_addr & ~4095UL), 4096, PROT_READ | PROT_WRITE));
}

/* What write barriers of collectors do: a page is closed, the write to it opens it. */
static void mended(long n) {
    struct sigaction action = {.sa_sigaction = mend, .sa_flags = SA_SIGINFO};
    page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(!sigaction(SIGSEGV, &action, 0));
    for (long i = 0; i < n; i++) {
        must(!mprotect(page, 4096, PROT_READ));
        *(volatile char *)page = 1;
    }
}

static void skip(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    ((long *)context)[21] += 2; /* RIP in ucontext */
}

static void skipped(long n) {
    struct sigaction action = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
    must(!sigaction(SIGSEGV, &action, 0));
    for (long i = 0; i < n; i++) {
        long at = 8;
        asm volatile("movb %%al,(%0)" ::"r"(at) : "memory");
    }
}

static void illegal(long n) {
    struct sigaction action = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
    must(!sigaction(SIGILL, &action, 0));
    for (long i = 0; i < n; i++) asm volatile("ud2");
}

static void spawns(long n) {
    char *words[] = {"true", 0};
    for (long i = 0; i < n; i++) {
        pid_t child;
        must(!posix_spawn(&child, "/bin/true", 0, 0, words, environ));
        waitpid(child, 0, 0);
    }
}

static void *thing(void *arg) { return arg; }

static void all_at_once(long n) {
    pthread_attr_t small;
    pthread_t *all = malloc((size_t)n * sizeof *all);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (long i = 0; i < n; i++) must(!pthread_create(&all[i], &small, thing, 0));
    for (long i = 0; i < n; i++) pthread_join(all[i], 0);
}

const struct corner call_corners[] = {{"call-writev-1000", 10000, many_parts},
                                      {"call-sendmsg-1000", 3000, many_messages},
                                      {"call-poll-1000", 10000, polls},
                                      {"call-select", 200000, selects},
                                      {"call-epoll-64", 100000, epolls},
                                      {"call-pread", 300000, positions},
                                      {"call-read-1M", 2000, big_reads},
                                      {"call-ioctl", 300000, ioctls},
                                      {"call-fcntl", 500000, fcntls},
                                      {"call-dup", 200000, dups},
                                      {"call-getrusage", 300000, usages},
                                      {"call-nanosleep", 10000, naps},
                                      {"proc-maps", 2000, own_maps},
                                      {"proc-status", 5000, own_status},
                                      {"signals-wait", 100000, waits},
                                      {"signals-timer", 1000, timers},
                                      {"signals-thread", 20000, thread_signals},
                                      {"signals-masked", 100000, masked},
                                      {"signals-altstack", 100000, alternate},
                                      {"faults-mended", 50000, mended},
                                      {"faults-skipped", 50000, skipped},
                                      {"faults-illegal", 50000, illegal},
                                      {"spawns", 20, spawns},
                                      {"threads-5000", 5000, all_at_once},
                                      {0, 0, 0}};
