/* Everything a program can see of signals, as text that must not depend on
 * whether it runs natively or under the runtime. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile int count;

static void fault(int sig, siginfo_t *info, void *context) {
    const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    printf("signal %d code %d page offset %lx err %lx trap %lx\n", sig, info->si_code,
           (unsigned long)info->si_addr & 0xfff, (long)r[REG_ERR], (long)r[REG_TRAPNO]);
    siglongjmp(back, 1);
}

static void skip(int sig, siginfo_t *info, void *context) {
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    printf("signal %d code %d at its address: %d\n", sig, info->si_code, (long)info->si_addr == r[REG_RIP]);
    r[REG_RIP] += 2;
    r[REG_RAX] = 99;
    r[REG_EFL] |= 1;
}

static void trap(int sig, siginfo_t *info, void *context) {
    (void)context;
    printf("signal %d code %d\n", sig, info->si_code);
}

static void nested(int sig) {
    printf("in %d\n", sig);
    if (sig == SIGUSR1) raise(SIGUSR2);
    printf("out %d\n", sig);
}

static void show_mask(int sig) {
    sigset_t m;
    sigprocmask(SIG_BLOCK, NULL, &m);
    printf("%d: mask usr1 %d usr2 %d hup %d\n", sig, sigismember(&m, SIGUSR1), sigismember(&m, SIGUSR2),
           sigismember(&m, SIGHUP));
}

static void tick(int sig) {
    (void)sig;
    count++;
}

static void on_other_stack(int sig, siginfo_t *info, void *context) {
    stack_t now;
    (void)info, (void)context;
    sigaltstack(NULL, &now);
    printf("signal %d, stack flags %d\n", sig, now.ss_flags);
    siglongjmp(back, 1);
}

static int deep(int n) {
    volatile char page[4096];
    page[0] = (char)n;
    return deep(n + 1) + page[0];
}

static void handle(int sig, void (*fn)(int, siginfo_t *, void *), int flags) {
    struct sigaction a = {.sa_flags = flags | SA_SIGINFO};
    a.sa_sigaction = fn;
    sigaction(sig, &a, NULL);
}

static void faults(void) {
    char *volatile readonly = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile long *volatile nowhere = (volatile long *)0x1238, *volatile wild = (volatile long *)0x8000000000000000;
    void (*volatile no_code)(void) = (void (*)(void))0x4440;
    handle(SIGSEGV, fault, 0);
    if (!sigsetjmp(back, 1)) *nowhere = 1;
    if (!sigsetjmp(back, 1)) count = (int)*nowhere;
    if (!sigsetjmp(back, 1)) *readonly = 1;
    if (!sigsetjmp(back, 1)) count = (int)*wild;
    if (!sigsetjmp(back, 1)) no_code();
    handle(SIGFPE, skip, 0);
    handle(SIGILL, skip, 0);
    long rax = 5;
    unsigned char carry;
    __asm__ volatile("xor %%edx, %%edx; xor %%ecx, %%ecx; clc; div %%ecx; setc %1"
                     : "+a"(rax), "=r"(carry)::"rdx", "rcx", "cc");
    printf("after div: %ld, carry %d\n", rax, carry);
    __asm__ volatile("ud2" : "+a"(rax)::"cc");
    printf("after ud2: %ld\n", rax);
    handle(SIGTRAP, trap, 0);
    __asm__ volatile("int3");
    raise(SIGTRAP);
}

static void masks(void) {
    sigset_t s, old, pending;
    struct sigaction a = {.sa_handler = show_mask};
    signal(SIGUSR1, nested);
    signal(SIGUSR2, nested);
    raise(SIGUSR1);
    sigaddset(&a.sa_mask, SIGHUP);
    sigaction(SIGUSR1, &a, NULL);
    raise(SIGUSR1);
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    sigprocmask(SIG_BLOCK, &s, &old);
    raise(SIGUSR1);
    sigpending(&pending);
    printf("pending %d\n", sigismember(&pending, SIGUSR1));
    sigsuspend(&old);
    printf("suspended: %s\n", strerrorname_np(errno));
    sigprocmask(SIG_BLOCK, NULL, &s);
    printf("still blocked %d\n", sigismember(&s, SIGUSR1));
    sigprocmask(SIG_SETMASK, &old, NULL);
    signal(SIGSEGV, nested);
    sigemptyset(&s);
    sigaddset(&s, SIGSEGV);
    sigprocmask(SIG_BLOCK, &s, &old);
    kill(getpid(), SIGSEGV);
    sigpending(&pending);
    printf("pending SIGSEGV %d\n", sigismember(&pending, SIGSEGV));
    sigprocmask(SIG_SETMASK, &old, NULL);
    a = (struct sigaction){.sa_handler = nested, .sa_flags = SA_RESETHAND};
    sigaction(SIGUSR2, &a, NULL);
    raise(SIGUSR2);
    sigaction(SIGUSR2, NULL, &a);
    printf("handler reset %d\n", a.sa_handler == SIG_DFL);
}

static void timer(long first_us, long every_us) {
    struct itimerval it = {{0, every_us}, {0, first_us}};
    setitimer(ITIMER_REAL, &it, NULL);
}

/* Interrupt computation at arbitrary instructions; any lost bit shows. */
static void interrupted_work(void) {
    unsigned long h = 1, wrong = 0;
    double x = 1, before;
    signal(SIGALRM, tick);
    count = 0;
    timer(300, 300);
    for (long i = 0; count < 300; i++) {
        char bytes[64];
        before = x;
        x = x * 1.0000001;
        h = h * 6364136223846793005ul + 1;
        memset(bytes, (int)h, sizeof bytes);
        for (size_t j = 0; j < sizeof bytes; j++) wrong += bytes[j] != (char)h;
        wrong += !(x > before);
    }
    timer(0, 0);
    printf("wrong after 300 interruptions: %lu\n", wrong);
}

static void interrupted_calls(void) {
    struct timespec t = {60, 0}, rest = {0, 0};
    struct sigaction a = {.sa_handler = tick};
    int fd[2];
    char c = 0;
    timer(10000, 10000); /* again and again: the first may come before the call */
    int r = nanosleep(&t, &rest);
    printf("nanosleep %d %s, time left %d\n", r, strerrorname_np(errno), rest.tv_nsec > 0);
    if (pipe(fd) != 0) exit(1);
    sigaction(SIGALRM, &a, NULL);
    r = (int)read(fd[0], &c, 1);
    printf("read %d %s\n", r, strerrorname_np(errno));
    timer(0, 0);
    a.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &a, NULL);
    fflush(stdout);
    if (fork() == 0) {
        usleep(500000);
        _exit(write(fd[1], "z", 1) != 1);
    }
    count = 0;
    timer(20000, 0);
    r = (int)read(fd[0], &c, 1);
    printf("restarted read %d %c, handlers run %d\n", r, c, count);
}

int main(void) {
    stack_t other = {.ss_sp = malloc(65536), .ss_size = 65536};
    setvbuf(stdout, NULL, _IOLBF, 0);
    faults();
    masks();
    interrupted_work();
    interrupted_calls();
    sigaltstack(&other, NULL);
    handle(SIGSEGV, on_other_stack, SA_ONSTACK);
    if (!sigsetjmp(back, 1)) deep(0);
    signal(SIGPIPE, SIG_IGN);
    raise(SIGPIPE);
    puts("last line");
    raise(SIGTERM);
    return 0;
}
