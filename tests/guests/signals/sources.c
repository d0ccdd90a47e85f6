// flags: -pthread
/* Every way to send a signal: code, process, user, value, and whether process or thread got it. */
#include "sleeping.h"
#include <mqueue.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#define SYS_pidfd_send_signal 424
#endif
static volatile int seen;
static pid_t child;
static int fds[2];

static const char *who(pid_t p) { return p == getpid() ? "self" : p && p == child ? "child" : p == getppid() ? "parent" : p ? "other" : "0"; }

static void handler(int sig, siginfo_t *si, void *context) {
    (void)context;
    if (si->si_signo != sig) printf("signo %d for %d\n", si->si_signo, sig);
    printf("  signal %d code %d errno %d", sig, si->si_code, si->si_errno);
    switch (si->si_code) {
    case SI_USER:
    case SI_TKILL: printf(" from %s uid %d", who(si->si_pid), si->si_uid == getuid()); break;
    case SI_QUEUE:
    case SI_MESGQ: printf(" from %s uid %d value %d", who(si->si_pid), si->si_uid == getuid(), si->si_value.sival_int); break;
    case SI_TIMER: printf(" overrun %d value %d", si->si_overrun, si->si_value.sival_int); break;
    default:
        if (sig == SIGCHLD) printf(" child %s status %d uid %d", who(si->si_pid), si->si_status, si->si_uid == getuid());
        else if (si->si_code > 0 && si->si_code < 7) printf(" band %lx fd %d", si->si_band, si->si_fd == fds[0]);
        else printf(" pid %s value %d", who(si->si_pid), si->si_value.sival_int);
    }
    printf(" thread %s\n", gettid() == getpid() ? "main" : "second");
    seen++;
}
static void handler1(int sig) { printf("  plain handler %d\n", sig); seen++; }
static void await(int n) { while (seen < n) nap(1); seen = 0; }

static volatile pid_t second_tid;
static volatile int quit;
static void *second(void *unused) {
    (void)unused;
    second_tid = gettid();
    while (!quit) nap(1);
    return 0;
}

int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    for (int s = 1; s < 65; s++)
        if (s != SIGKILL && s != SIGSTOP) sigaction(s, &sa, 0);
    pid_t pid = getpid(), tid = gettid();
    union sigval v = {.sival_int = 77};
    puts("kill"); kill(pid, SIGUSR1); await(1);
    puts("raise"); raise(SIGUSR1); await(1);
    puts("tkill"); syscall(SYS_tkill, tid, SIGHUP); await(1);
    puts("sigqueue"); sigqueue(pid, SIGRTMIN + 3, v); await(1);
    puts("sigqueue standard"); sigqueue(pid, SIGUSR2, v); await(1);
    puts("abort's signal"); kill(pid, SIGABRT); await(1);
    for (int i = 0; i < 5; i++) {
        int s = (int[]){SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}[i];
        printf("sent %d\n", s);
        kill(pid, s); await(1);
        raise(s); await(1);
        sigqueue(pid, s, v); await(1);
    }
    siginfo_t own = {.si_signo = SIGUSR1, .si_code = -20};
    own.si_pid = pid;
    own.si_value.sival_int = 5;
    puts("rt_tgsigqueueinfo"); syscall(SYS_rt_tgsigqueueinfo, pid, tid, SIGUSR1, &own); await(1);
    own.si_code = -7;
    puts("rt_sigqueueinfo"); syscall(SYS_rt_sigqueueinfo, pid, SIGUSR1, &own); await(1);
    int pf = (int)syscall(SYS_pidfd_open, pid, 0);
    puts("pidfd"); syscall(SYS_pidfd_send_signal, pf, SIGUSR1, 0, 0); await(1);
    printf("bad signals: %d %d %d\n", kill(pid, 65), kill(pid, -1), sigqueue(pid, 99, v));
    printf("none: %d\n", kill(pid, 0));

    puts("alarm"); alarm(1); await(1);
    struct itimerval it = {{0, 0}, {0, 20000}};
    puts("setitimer real"); setitimer(ITIMER_REAL, &it, 0); await(1);
    puts("setitimer virtual"); setitimer(ITIMER_VIRTUAL, &it, 0);
    for (volatile long i = 0; !seen; i++) {}
    await(1);
    puts("setitimer prof"); setitimer(ITIMER_PROF, &it, 0);
    for (volatile long i = 0; !seen; i++) {}
    await(1);
    timer_t t;
    struct itimerspec once = {{0, 0}, {0, 5000000}};
    struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 5, .sigev_value = v};
    timer_create(CLOCK_MONOTONIC, &ev, &t);
    puts("timer"); timer_settime(t, 0, &once, 0); await(1);
    timer_delete(t);

    pthread_t th;
    pthread_create(&th, 0, second, 0);
    while (!second_tid) nap(1);
    ev.sigev_notify = SIGEV_THREAD_ID;
    ev._sigev_un._tid = second_tid;
    timer_create(CLOCK_MONOTONIC, &ev, &t);
    puts("timer for a thread"); timer_settime(t, 0, &once, 0); await(1);
    timer_delete(t);
    puts("pthread_kill"); pthread_kill(th, SIGUSR1); await(1);
    puts("pthread_sigqueue"); pthread_sigqueue(th, SIGUSR2, v); await(1);
    sigset_t block;
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    sigaddset(&block, SIGSEGV);
    pthread_sigmask(SIG_BLOCK, &block, 0);
    puts("to the process, main blocks it"); kill(pid, SIGUSR1); await(1);
    pthread_sigmask(SIG_UNBLOCK, &block, 0);

    pipe(fds);
    fcntl(fds[0], F_SETFL, O_ASYNC | O_NONBLOCK);
    fcntl(fds[0], F_SETOWN, pid);
    puts("SIGIO"); write(fds[1], "x", 1); await(1);
    fcntl(fds[0], F_SETSIG, SIGRTMIN + 6);
    puts("F_SETSIG"); write(fds[1], "x", 1); await(1);
    struct f_owner_ex ex = {F_OWNER_TID, second_tid};
    fcntl(fds[0], F_SETOWN_EX, &ex);
    puts("F_SETOWN_EX"); write(fds[1], "x", 1); await(1);
    quit = 1;
    pthread_join(th, 0);

    char name[64];
    snprintf(name, sizeof name, "/sources-%d", pid);
    struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 8};
    mqd_t q = mq_open(name, O_CREAT | O_RDWR, 0600, &attr);
    mq_unlink(name);
    if (q != (mqd_t)-1) {
        ev.sigev_notify = SIGEV_SIGNAL;
        mq_notify(q, &ev);
        puts("message queue"); mq_send(q, "m", 1, 0); await(1);
    }
    signal(SIGPIPE, SIG_IGN);
    int p2[2];
    pipe(p2);
    close(p2[0]);
    long r = write(p2[1], "x", 1);
    printf("ignored SIGPIPE: %ld errno %d\n", r, errno);
    sigaction(SIGPIPE, &sa, 0);
    puts("SIGPIPE"); r = write(p2[1], "x", 1); await(1);

    puts("children");
    signal(SIGCONT, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    sigprocmask(SIG_BLOCK, &chld, 0);
    sigaction(SIGCHLD, &sa, 0);
    int go[2];
    pipe(go);
    child = fork();
    if (child == 0) { char c; read(go[0], &c, 1); _exit(9); }
    int status;
    siginfo_t wi;
    kill(child, SIGSTOP);
    waitid(P_PID, (id_t)child, &wi, WSTOPPED | WNOWAIT); /* who waits in full takes the signal's status at times */
    sigprocmask(SIG_UNBLOCK, &chld, 0);
    await(1);
    waitpid(child, &status, WUNTRACED);
    sigprocmask(SIG_BLOCK, &chld, 0);
    kill(child, SIGCONT);
    waitpid(child, &status, WCONTINUED);
    sigprocmask(SIG_UNBLOCK, &chld, 0);
    await(1);
    sigprocmask(SIG_BLOCK, &chld, 0);
    write(go[1], "g", 1);
    waitid(P_PID, (id_t)child, &wi, WEXITED | WNOWAIT);
    sigprocmask(SIG_UNBLOCK, &chld, 0);
    await(1);
    waitpid(child, &status, 0);
    sigprocmask(SIG_BLOCK, &chld, 0);
    child = fork();
    if (child == 0) { signal(SIGUSR1, SIG_DFL); raise(SIGUSR1); }
    waitid(P_PID, (id_t)child, &wi, WEXITED | WNOWAIT);
    sigprocmask(SIG_UNBLOCK, &chld, 0);
    await(1);
    waitpid(child, &status, 0);
    puts("no stops");
    struct sigaction quiet = {.sa_handler = handler1, .sa_flags = SA_NOCLDSTOP};
    sigaction(SIGCHLD, &quiet, 0);
    child = fork();
    if (child == 0) for (;;) pause();
    kill(child, SIGSTOP);
    waitpid(child, &status, WUNTRACED);
    printf("stopped, seen %d\n", seen);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    await(1);
    puts("no zombies");
    quiet.sa_flags = SA_NOCLDWAIT;
    sigaction(SIGCHLD, &quiet, 0);
    child = fork();
    if (child == 0) _exit(0);
    r = waitpid(child, &status, 0);
    printf("wait %ld errno %d\n", r, errno);
    signal(SIGCHLD, SIG_IGN);
    child = fork();
    if (child == 0) _exit(0);
    r = waitpid(child, &status, 0);
    printf("ignored: wait %ld errno %d\n", r, errno);
    return 0;
}
