/* Signals that a program sends itself as if a fault had caused them, as crash reporters do with the one that they have
 * handled: they come when they are sent, or when the mask lets them, with what was sent, to the main thread and to
 * another one, by a handler and without one, and to sigtimedwait.  By the default action they kill. */
// flags: -pthread
// errors: 2
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct {
    int sig, code;
} sent[] = {
    {SIGSEGV, SEGV_MAPERR}, {SIGSEGV, SEGV_ACCERR}, {SIGSEGV, SI_KERNEL},   {SIGBUS, BUS_ADRERR},
    {SIGFPE, FPE_INTDIV},   {SIGILL, ILL_ILLOPN},   {SIGTRAP, TRAP_BRKPT}, {SIGTRAP, TRAP_TRACE},
    {SIGTRAP, SI_KERNEL},
};

static volatile int got;
static int *volatile nowhere = (int *)0xc0;

static int send(siginfo_t *info, int way) {
    if (way == 0) return (int)syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), info->si_signo, info);
    if (way == 1) return (int)syscall(SYS_rt_sigqueueinfo, gettid(), info->si_signo, info);
    int fd = (int)syscall(SYS_pidfd_open, gettid(), 0);
    int r = (int)syscall(SYS_pidfd_send_signal, fd, info->si_signo, info, 0);
    close(fd);
    return r;
}

static void show(int sig, siginfo_t *si, void *context) {
    (void)context;
    got++;
    printf("  %d %d %p\n", sig, si->si_code, si->si_addr);
}

static siginfo_t made(int i) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = sent[i].sig;
    info.si_code = sent[i].code;
    info.si_addr = (void *)(long)(0x1230 + i);
    return info;
}

static void *all(void *ways) {
    for (long way = 0; way < (long)ways; way++)
        for (unsigned i = 0; i < sizeof sent / sizeof *sent; i++) {
            siginfo_t info = made(i), taken;
            struct timespec now = {0, 0};
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, sent[i].sig);
            got = 0;
            printf("%ld %u %d", way, i, send(&info, way));
            printf(" %d\n", got);
            pthread_sigmask(SIG_BLOCK, &set, NULL);
            info.si_addr = (void *)0x77;
            printf(" %d", send(&info, way));
            printf(" %d\n", got);
            pthread_sigmask(SIG_UNBLOCK, &set, NULL);
            printf(" %d\n", got);
            pthread_sigmask(SIG_BLOCK, &set, NULL);
            send(&info, way);
            int r = sigtimedwait(&set, &taken, &now);
            printf(" taken %d %d %p %d\n", r, taken.si_code, taken.si_addr, got);
            send(&info, way);
            usleep(1); /* it stays where it is */
            pthread_sigmask(SIG_UNBLOCK, &set, NULL);
            printf(" %d\n", got);
        }
    return NULL;
}

/* As crashpad: its frame goes, and the fault's signal comes again for who was there before. */
static void again(int sig, siginfo_t *si, void *context) {
    (void)context;
    printf("handled %d %d %p\n", sig, si->si_code, si->si_addr);
    signal(sig, SIG_DFL);
    printf("sent %d\n", send(si, 0));
}

static void *fault(void *unused) {
    struct sigaction sa = {.sa_sigaction = again, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &sa, NULL);
    printf("%d\n", *nowhere);
    return unused;
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = show, .sa_flags = SA_SIGINFO};
    pthread_t t;
    setvbuf(stdout, NULL, _IONBF, 0);
    for (unsigned i = 0; i < sizeof sent / sizeof *sent; i++) sigaction(sent[i].sig, &sa, NULL);
    all((void *)3);
    pthread_create(&t, NULL, all, (void *)1);
    pthread_join(t, NULL);
    for (int i = 0; i < 2; i++) {
        int status;
        if (!fork()) {
            if (i == 0) fault(NULL);
            pthread_create(&t, NULL, fault, NULL);
            pthread_join(t, NULL);
            _exit(3);
        }
        wait(&status);
        printf("killed by %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status));
    }
    return 0;
}
