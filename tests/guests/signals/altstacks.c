// errors: 1
/* sigaltstack: where handlers run, nesting, overflow, SS_AUTODISARM, sizes, errors. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif
#define SIZE 65536
static char *stack_at, *second;
static sigjmp_buf back;
static volatile int depth;

static const char *where(void *p) {
    char *c = p;
    return c >= stack_at && c < stack_at + SIZE ? "alternate" : c >= second && c < second + SIZE ? "second" : "normal";
}
static void show(const char *what) {
    stack_t s;
    sigaltstack(0, &s);
    printf("%s: flags %x at %s size %ld\n", what, s.ss_flags, s.ss_sp ? where(s.ss_sp) : "none", (long)s.ss_size);
}
static void handler(int sig, siginfo_t *si, void *context) {
    ucontext_t *uc = context;
    char here;
    (void)si;
    printf("%d on %s, frame says flags %x size %ld\n", sig, where(&here), uc->uc_stack.ss_flags, (long)uc->uc_stack.ss_size);
    show("  inside");
    stack_t s = {.ss_sp = second, .ss_size = SIZE};
    errno = 0;
    int r = sigaltstack(&s, 0);
    printf("  change: %d errno %d\n", r, errno);
    if (depth++ == 0) raise(SIGUSR2);
    depth--;
}
static void overflow(int sig) {
    char here;
    printf("overflow: %d on %s\n", sig, where(&here));
    siglongjmp(back, 1);
}
#pragma GCC diagnostic ignored "-Winfinite-recursion"
__attribute__((noinline)) static int deep(int n) {
    volatile char space[2000];
    space[0] = (char)n;
    return deep(n + 1) + space[0];
}
static void deep_handler(int sig) {
    char here;
    printf("deep handler %d on %s\n", sig, where(&here));
    deep(0);
}
static void set(int sig, void (*fn)(int, siginfo_t *, void *), int flags) {
    struct sigaction sa = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags};
    sigaction(sig, &sa, 0);
}

int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    stack_at = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    second = malloc(SIZE);
    unsigned long least = getauxval(AT_MINSIGSTKSZ);
    printf("least %d, sysconf agrees %d\n", least > 2048, sysconf(_SC_MINSIGSTKSZ) == (long)least);
    show("start");
    stack_t s = {.ss_sp = stack_at, .ss_size = SIZE};
    printf("set %d\n", sigaltstack(&s, 0));
    show("set");
    set(SIGUSR1, handler, SA_ONSTACK);
    set(SIGUSR2, handler, SA_ONSTACK);
    raise(SIGUSR1);
    set(SIGUSR1, handler, 0);
    raise(SIGUSR1);
    set(SIGUSR2, handler, 0);
    set(SIGUSR1, handler, SA_ONSTACK);
    raise(SIGUSR1);
    show("after");

    puts("autodisarm");
    stack_t d = {.ss_sp = stack_at, .ss_size = SIZE, .ss_flags = (int)SS_AUTODISARM};
    printf("set %d\n", sigaltstack(&d, 0));
    show("set");
    set(SIGUSR2, handler, SA_ONSTACK);
    raise(SIGUSR1);
    show("after");

    puts("sizes");
    for (int i = 0; i < 4; i++) {
        stack_t t = {.ss_sp = stack_at, .ss_size = (size_t[]){0, 2047, 2048, least - 1}[i]};
        errno = 0;
        int r = sigaltstack(&t, 0);
        printf("size %s: %d errno %d\n", (const char *[]){"0", "2047", "2048", "least-1"}[i], r, errno);
    }
    stack_t odd = {.ss_sp = stack_at, .ss_size = SIZE, .ss_flags = 77};
    int r = sigaltstack(&odd, 0);
    printf("odd flags: %d errno %d\n", r, errno);
    r = (int)syscall(SYS_sigaltstack, 8, 0);
    printf("bad address: %d errno %d\n", r, errno);
    stack_t off = {.ss_flags = SS_DISABLE, .ss_sp = stack_at, .ss_size = SIZE};
    printf("off %d\n", sigaltstack(&off, 0));
    show("off");
    set(SIGUSR1, handler, SA_ONSTACK);
    depth = 5;
    raise(SIGUSR1);

    puts("stack overflow, three times");
    sigaltstack(&s, 0);
    struct sigaction sa = {.sa_handler = overflow, .sa_flags = SA_ONSTACK};
    sigaction(SIGSEGV, &sa, 0);
    for (int i = 0; i < 3; i++)
        if (!sigsetjmp(back, 1)) deep(0);

    puts("too small for the frame");
    char *tiny = mmap(0, 4096 * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(tiny, 4096, PROT_NONE);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        stack_t t = {.ss_sp = tiny + 4096, .ss_size = 2048};
        r = sigaltstack(&t, 0);
        struct sigaction du = {.sa_handler = deep_handler, .sa_flags = SA_ONSTACK};
        sigaction(SIGUSR1, &du, 0);
        signal(SIGSEGV, SIG_DFL);
        if (r == 0) raise(SIGUSR1);
        _exit(r == 0 ? 1 : 0); /* sizes are checked: nothing to see */
    }
    int status;
    extern pid_t wait(int *);
    wait(&status);
    printf("child: %x\n", status);

    puts("overflow of the alternate stack itself");
    child = fork();
    if (child == 0) {
        sigaltstack(&s, 0);
        struct sigaction du = {.sa_handler = deep_handler, .sa_flags = SA_ONSTACK};
        sigaction(SIGUSR1, &du, 0);
        sigaction(SIGSEGV, &du, 0);
        mprotect(stack_at, 4096, PROT_NONE);
        raise(SIGUSR1);
        _exit(1);
    }
    wait(&status);
    printf("child: signal %d\n", status & 127);
    return 0;
}
