#define _GNU_SOURCE
#include "corners.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static void *nothing(void *arg) { return arg; }

static void threads(long n) {
    for (long i = 0; i < n; i++) {
        pthread_t thread;
        must(!pthread_create(&thread, 0, nothing, 0));
        pthread_join(thread, 0);
    }
}

static pthread_barrier_t together;

static void *at_barrier(void *arg) {
    for (int i = 0; i < 10; i++) pthread_barrier_wait(&together);
    return arg;
}

static void many_threads(long n) {
    for (long i = 0; i < n; i++) {
        pthread_t thread[200];
        pthread_barrier_init(&together, 0, 200);
        for (int k = 0; k < 200; k++) must(!pthread_create(&thread[k], 0, at_barrier, 0));
        for (int k = 0; k < 200; k++) pthread_join(thread[k], 0);
    }
}

static int turn;

static void take_turns(int mine, long n) {
    for (long i = 0; i < n; i++) {
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != mine)
            syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !mine, 0, 0, 0);
        __atomic_store_n(&turn, !mine, __ATOMIC_RELEASE);
        syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
    }
}

static void *other_turn(void *n) { return take_turns(1, (long)n), n; }

static void futexes(long n) {
    pthread_t thread;
    must(!pthread_create(&thread, 0, other_turn, (void *)n));
    take_turns(0, n);
    pthread_join(thread, 0);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void *lock_and_count(void *n) {
    for (long i = 0; i < (long)n; i++) {
        pthread_mutex_lock(&mutex);
        counter++;
        pthread_mutex_unlock(&mutex);
    }
    return 0;
}

static void contended(long n) {
    pthread_t thread[4];
    for (int k = 0; k < 4; k++) must(!pthread_create(&thread[k], 0, lock_and_count, (void *)n));
    for (int k = 0; k < 4; k++) pthread_join(thread[k], 0);
    must(counter == 4 * n);
}

static void locks(long n) { lock_and_count((void *)n); }

static void yields(long n) {
    for (long i = 0; i < n; i++) sched_yield();
}

static void pipes(long n) {
    int to[2], from[2];
    char byte = 0;
    must(!pipe(to) && !pipe(from));
    pid_t child = fork();
    if (!child) {
        while (read(to[0], &byte, 1) == 1 && byte == 0) must(write(from[1], &byte, 1) == 1);
        _exit(0);
    }
    for (long i = 0; i < n; i++) must(write(to[1], &byte, 1) == 1 && read(from[0], &byte, 1) == 1);
    byte = 1;
    must(write(to[1], &byte, 1) == 1);
    waitpid(child, 0, 0);
}

static void sockets(long n) {
    int ends[2];
    char data[100] = {0};
    struct epoll_event event = {.events = EPOLLIN};
    must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    int poll = epoll_create1(0);
    epoll_ctl(poll, EPOLL_CTL_ADD, ends[1], &event);
    for (long i = 0; i < n; i++) {
        struct iovec parts[2] = {{data, 50}, {data + 50, 50}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        must(sendmsg(ends[0], &message, 0) == 100 && epoll_wait(poll, &event, 1, -1) == 1);
        must(recv(ends[1], data, 100, 0) == 100);
    }
}

static volatile sig_atomic_t met;

static void meet(int number) { met = number; }
static void meet_info(int number, siginfo_t *info, void *context) { met = number, (void)info, (void)context; }

static void signals(long n) {
    signal(SIGUSR1, meet);
    for (long i = 0; i < n; i++) kill(getpid(), SIGUSR1);
}

static void signals_info(long n) {
    struct sigaction action = {.sa_sigaction = meet_info, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, 0);
    for (long i = 0; i < n; i++) raise(SIGUSR1);
}

static void alarms(long n) {
    struct itimerval every = {{0, 100}, {0, 100}};
    signal(SIGALRM, meet);
    setitimer(ITIMER_REAL, &every, 0);
    for (long i = 0; i < n; i++) {
        for (met = 0; !met;);
    }
}

static sigjmp_buf back;

static void leave(int number) {
    (void)number;
    siglongjmp(back, 1);
}

static char *volatile nowhere = (char *)8;

static void faults(long n) {
    volatile long i = 0;
    signal(SIGSEGV, leave);
    for (sigsetjmp(back, 1); i++ < n;) *(volatile int *)nowhere = 1;
}

static void jumps(long n) {
    static jmp_buf here;
    volatile long i = 0;
    setjmp(here);
    if (i++ < n) longjmp(here, 1);
}

static void jumps_masks(long n) {
    volatile long i = 0;
    sigsetjmp(back, 1);
    if (i++ < n) siglongjmp(back, 1);
}

static void masks(long n) {
    sigset_t set, old;
    sigfillset(&set);
    for (long i = 0; i < n; i++) {
        sigprocmask(SIG_BLOCK, &set, &old);
        sigprocmask(SIG_SETMASK, &old, 0);
    }
}

static void getppids(long n) {
    for (long i = 0; i < n; i++) getppid();
}

static void reads(long n) {
    char byte;
    int file = open("/dev/zero", O_RDONLY);
    for (long i = 0; i < n; i++) must(read(file, &byte, 1) == 1);
}

static void stats(long n) {
    struct stat found;
    for (long i = 0; i < n; i++) stat("/usr/bin/true", &found);
}

static void opens(long n) {
    for (long i = 0; i < n; i++) close(open("/usr/bin/true", O_RDONLY));
}

static void clocks(long n) {
    struct timespec now;
    struct timeval day;
    for (long i = 0; i < n; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        gettimeofday(&day, 0);
    }
}

static ucontext_t one, two;

static void there(void) {
    for (;;) swapcontext(&two, &one);
}

static void contexts(long n) {
    static char stack[65536];
    getcontext(&two);
    two.uc_stack.ss_sp = stack;
    two.uc_stack.ss_size = sizeof stack;
    makecontext(&two, there, 0);
    for (long i = 0; i < n; i++) swapcontext(&one, &two);
}

static void libraries(long n) {
    for (long i = 0; i < n; i++) {
        void *library = dlopen("libm.so.6", RTLD_NOW);
        must(library != 0 && dlsym(library, "cos") != 0);
        dlclose(library);
    }
}

static void lookups(long n) {
    for (long i = 0; i < n; i++) must(dlsym(RTLD_DEFAULT, i & 1 ? "printf" : "pthread_create") != 0);
}

static void forks(long n) {
    for (long i = 0; i < n; i++) {
        pid_t child = fork();
        if (!child) _exit(0);
        waitpid(child, 0, 0);
    }
}

static void execs(long n) {
    for (long i = 0; i < n; i++) {
        pid_t child = fork();
        if (!child) {
            execl("/bin/true", "true", (char *)0);
            _exit(1);
        }
        waitpid(child, 0, 0);
    }
}

static void vforks(long n) {
    for (volatile long i = 0; i < n; i = i + 1) {
        pid_t child = vfork();
        if (!child) _exit(0);
        waitpid(child, 0, 0);
    }
}

const struct corner process_corners[] = {{"threads", 10000, threads},
                                         {"threads-200", 20, many_threads},
                                         {"futexes", 50000, futexes},
                                         {"mutex-contended", 500000, contended},
                                         {"mutex", 5000000, locks},
                                         {"yields", 300000, yields},
                                         {"pipes", 30000, pipes},
                                         {"sockets", 50000, sockets},
                                         {"signals", 100000, signals},
                                         {"signals-info", 100000, signals_info},
                                         {"alarms", 3000, alarms},
                                         {"faults", 50000, faults},
                                         {"jumps", 3000000, jumps},
                                         {"jumps-masks", 300000, jumps_masks},
                                         {"masks", 300000, masks},
                                         {"call-getppid", 500000, getppids},
                                         {"call-read", 500000, reads},
                                         {"call-stat", 200000, stats},
                                         {"call-open", 100000, opens},
                                         {"call-clocks", 500000, clocks},
                                         {"contexts", 300000, contexts},
                                         {"libraries", 300, libraries},
                                         {"lookups", 500000, lookups},
                                         {"forks", 500, forks},
                                         {"vforks", 500, vforks},
                                         {"execs", 20, execs},
                                         {0, 0, 0}};
