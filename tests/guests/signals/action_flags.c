// errors: 3
/* sigaction: what is stored, flags known and unknown, masks, one-shot handlers, signals without SA_SIGINFO. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct kernel_action { void *handler; unsigned long flags; void *restorer; unsigned long mask; };
static void *restorer;
static int count;
static void show_mask(const char *what) {
    unsigned long m = 0;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, &m, 8);
    printf("%s mask %lx\n", what, m);
}
static void handler(int sig) {
    printf("handler %d, ", sig);
    show_mask("");
    if (count++ < 1) {
        raise(sig);
        printf("raised again in it, count %d\n", count);
    }
}
static void info_handler(int sig, siginfo_t *si, void *u) {
    struct sigaction now;
    sigaction(sig, 0, &now);
    printf("info handler %d code %d context %d, action now %d\n", sig, si->si_code, u != 0, now.sa_handler == SIG_DFL);
}
static long act(int sig, struct kernel_action *a, struct kernel_action *old) { return syscall(SYS_rt_sigaction, sig, a, old, 8); }

int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    struct sigaction first = {.sa_handler = handler};
    sigaction(SIGUSR1, &first, 0);
    struct kernel_action k;
    act(SIGUSR1, 0, &k);
    restorer = k.restorer;
    printf("libc's: flags %lx restorer %d mask %lx\n", k.flags, k.restorer != 0, k.mask);
    /* Flags that the kernel does not know are cleared; SA_UNSUPPORTED tells that; SA_EXPOSE_TAGBITS is not x86's. */
    static const unsigned long flags[] = {0, SA_SIGINFO, SA_NODEFER, SA_RESETHAND, SA_ONSTACK, SA_RESTART, SA_NOCLDSTOP, SA_NOCLDWAIT,
                                          0x400, 0x800, 0x10, 0x100, 0x01000000, 0x02000000, 0x20000000, ~0ul, 0x100000000ul};
    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
        struct kernel_action a = {(void *)handler, flags[i] | 0x04000000, restorer, ~0ul}, back = {0};
        long r = act(SIGUSR2, &a, 0);
        long s = act(SIGUSR2, 0, &back);
        printf("flags %lx: %ld %ld -> %lx mask %lx\n", flags[i], r, s, back.flags, back.mask);
    }
    struct kernel_action a = {(void *)handler, 0x04000000, restorer, 0};
    for (int s = 0; s <= 65; s++) {
        errno = 0;
        long r = act(s, &a, 0);
        if (r) printf("signal %d: errno %d\n", s, errno);
    }
    errno = 0;
    printf("size: %ld", syscall(SYS_rt_sigaction, SIGUSR1, &a, 0, 4));
    printf(" errno %d\n", errno);
    printf("kill read: %ld\n", act(SIGKILL, 0, &k));
    errno = 0;
    printf("mask how: %ld", syscall(SYS_rt_sigprocmask, 77, &(unsigned long){0}, 0, 8));
    printf(" errno %d\n", errno);

    unsigned long all = ~0ul;
    show_mask("start");
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, 8);
    show_mask("all");
    all = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, 8);

    puts("plain, deferred");
    struct sigaction sa = {.sa_handler = handler};
    sigaddset(&sa.sa_mask, SIGHUP);
    sigaddset(&sa.sa_mask, SIGSEGV);
    sigaction(SIGUSR1, &sa, 0);
    count = 0;
    raise(SIGUSR1);
    puts("not deferred");
    sa.sa_flags = SA_NODEFER;
    sigaction(SIGUSR1, &sa, 0);
    count = 0;
    raise(SIGUSR1);
    show_mask("after");
    puts("one shot");
    struct sigaction once = {.sa_sigaction = info_handler, .sa_flags = SA_SIGINFO | SA_RESETHAND};
    sigaction(SIGCHLD, &once, 0);
    raise(SIGCHLD);
    raise(SIGCHLD);
    sigaction(SIGSEGV, &once, 0);
    raise(SIGSEGV);
    sigaction(SIGSEGV, 0, &sa);
    printf("after: default %d flags %x\n", sa.sa_handler == SIG_DFL, sa.sa_flags);

    /* Without a restorer there is no way back: the kernel refuses to deliver. */
    fflush(stdout);
    for (int how = 0; how < 3; how++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct kernel_action bare = {(void *)handler, how == 0 ? 0 : 0x04000000, how == 1 ? (void *)16 : 0, 0};
            count = 5;
            act(SIGUSR1, &bare, 0);
            raise(SIGUSR1);
            _exit(1);
        }
        int status;
        waitpid(pid, &status, 0);
        printf("restorer %d: signal %d\n", how, WTERMSIG(status));
    }
    /* A blocked or ignored fault kills all the same. */
    for (int how = 0; how < 2; how++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct sigaction seg = {.sa_handler = how ? SIG_IGN : handler};
            sigaction(SIGSEGV, &seg, 0);
            sigset_t m;
            sigemptyset(&m);
            if (!how) sigaddset(&m, SIGSEGV);
            sigprocmask(SIG_SETMASK, &m, 0);
            count = 5;
            *(volatile int *)8 = 1;
            _exit(1);
        }
        int status;
        waitpid(pid, &status, 0);
        printf("fault %s: signal %d\n", how ? "ignored" : "blocked", WTERMSIG(status));
    }
    /* Ignoring discards what is pending. */
    sigset_t m, pending;
    sigemptyset(&m);
    sigaddset(&m, SIGUSR1);
    sigaddset(&m, SIGBUS);
    sigaddset(&m, SIGTRAP);
    sigprocmask(SIG_SETMASK, &m, 0);
    raise(SIGUSR1);
    raise(SIGBUS);
    raise(SIGTRAP);
    unsigned long p = 0;
    syscall(SYS_rt_sigpending, &p, 8);
    printf("pending %lx\n", p);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGBUS, SIG_IGN);
    signal(SIGTRAP, SIG_IGN);
    sigpending(&pending);
    memcpy(&p, &pending, 8);
    printf("pending %lx\n", p);
    signal(SIGFPE, SIG_IGN);
    raise(SIGFPE);
    puts("sent and ignored");
    return 0;
}
