// errors: 1
/* Jumps and switches of context out of handlers, and into them: stacks of every kind, no false error. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf back;
static ucontext_t main_context, routine, scheduler;
static char *stacks[4];
static volatile int ticks, switches;

static int use_stack(int n) {
    volatile int a[200];
    for (int i = 0; i < 200; i++) a[i] = i * n;
    return a[n % 200];
}
static void jumper(int sig) {
    use_stack(sig);
    siglongjmp(back, sig);
}
static void short_jumper(int sig) {
    (void)sig;
    use_stack(3);
    _longjmp(back, 5);
}
static volatile int sunk;
static void nested_jump(int sig) {
    char local[100];
    memset(local, sig, sizeof local);
    sunk += local[7];
    if (sig == SIGUSR1) raise(SIGUSR2);
    siglongjmp(back, sig);
}
static void body(void) {
    for (int i = 0; i < 20; i++) {
        sunk += use_stack(i);
        swapcontext(&routine, &main_context);
    }
}
/* A handler that switches to another routine, as preemptive user threads do. */
static ucontext_t tasks[3];
static int current;
static volatile long work_done[3];
static volatile int finished;
static void preempt(int sig) {
    (void)sig;
    ticks++;
    int old = current;
    current = (current + 1) % 3;
    switches++;
    swapcontext(&tasks[old], &tasks[current]);
}
static void task(int n) {
    sigset_t alarm_only;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarm_only, 0); /* a switch is not interrupted */
    while (!finished) {
        sunk += use_stack(n + 1);
        work_done[n]++;
        if (work_done[0] > 20000 && work_done[1] > 20000 && work_done[2] > 20000 && switches > 50) finished = 1;
    }
    sigprocmask(SIG_BLOCK, &alarm_only, 0);
    setcontext(&scheduler);
}
static void edit(int sig, siginfo_t *si, void *context) {
    ucontext_t *uc = context;
    (void)sig, (void)si;
    /* Undefined in the program, defined by the handler. */
    uc->uc_mcontext.gregs[REG_RBX] = 77;
    memset(uc->uc_mcontext.fpregs->_xmm[6].element, 1, 16);
}

int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    for (int i = 0; i < 4; i++) stacks[i] = malloc(65536);
    stack_t ss = {.ss_sp = stacks[3], .ss_size = 65536};
    sigaltstack(&ss, 0);
    for (int where = 0; where < 2; where++) {
        struct sigaction sa = {.sa_handler = jumper, .sa_flags = where ? SA_ONSTACK : 0};
        sigaction(SIGUSR1, &sa, 0);
        sigaction(SIGSEGV, &sa, 0);
        int sum = 0;
        for (volatile int i = 0; i < 500; i++) {
            int r = sigsetjmp(back, 1);
            if (r == 0) {
                if (i & 1) raise(SIGUSR1);
                else *(volatile int *)16 = 1;
            }
            sum += r + use_stack(i);
        }
        printf("jumps %d\n", sum);
        sa.sa_handler = nested_jump;
        sigaction(SIGUSR1, &sa, 0);
        sigaction(SIGUSR2, &sa, 0);
        sum = 0;
        for (volatile int i = 0; i < 300; i++) {
            int r = sigsetjmp(back, 1);
            if (r == 0) raise(SIGUSR1);
            sum += r + use_stack(i);
        }
        printf("nested %d\n", sum);
        stack_t now;
        sigaltstack(0, &now);
        printf("stack flags %x\n", now.ss_flags);
    }
    struct sigaction nodefer = {.sa_handler = short_jumper, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR1, &nodefer, 0);
    int sum = 0;
    for (volatile int i = 0; i < 300; i++) {
        int r = _setjmp(back);
        if (r == 0) raise(SIGUSR1);
        sum += r;
    }
    printf("without masks %d\n", sum);

    getcontext(&routine);
    routine.uc_stack.ss_sp = stacks[0];
    routine.uc_stack.ss_size = 65536;
    routine.uc_link = &main_context;
    makecontext(&routine, body, 0);
    int turns = 0;
    for (; turns < 20; turns++) swapcontext(&main_context, &routine);
    printf("turns %d\n", turns);

    struct sigaction pre = {.sa_handler = preempt, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &pre, 0);
    sigset_t alarm_only;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm_only, 0);
    for (int i = 0; i < 3; i++) {
        getcontext(&tasks[i]);
        tasks[i].uc_stack.ss_sp = stacks[i];
        tasks[i].uc_stack.ss_size = 65536;
        tasks[i].uc_link = 0;
        makecontext(&tasks[i], (void (*)(void))task, 1, i);
    }
    struct itimerval it = {{0, 2000}, {0, 2000}}, off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &it, 0);
    swapcontext(&scheduler, &tasks[0]);
    setitimer(ITIMER_REAL, &off, 0);
    printf("preempted: finished %d switched %d\n", finished, switches > 50);

    struct sigaction ed = {.sa_sigaction = edit, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR2, &ed, 0);
    long *fresh = malloc(64), rbx;
    unsigned char x6[16];
    long nr = 234, pid = getpid(), tid = gettid(), r;
    __asm__ volatile("mov (%[fresh]), %%rbx\n movdqu (%[fresh]), %%xmm6\n syscall\n mov %%rbx, %[rbx]\n movdqu %%xmm6, %[x6]"
                     : "=a"(r), [rbx] "=r"(rbx), [x6] "=m"(x6)
                     : "a"(nr), "D"(pid), "S"(tid), "d"((long)SIGUSR2), [fresh] "r"(fresh) : "rbx", "rcx", "r11", "xmm6", "memory");
    printf("edited: %s %s\n", rbx == 77 ? "rbx" : "no", x6[3] == 1 && x6[15] == 1 ? "xmm6" : "no");
    free(fresh);
    ss.ss_flags = SS_DISABLE;
    sigaltstack(&ss, 0);
    for (int i = 0; i < 4; i++) free(stacks[i]);
    return 0;
}
