// errors: yes
/* prctl(PR_SET_SYSCALL_USER_DISPATCH): SIGSYS instead of system calls made outside a range. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static volatile char selector;
static siginfo_t seen;
static volatile long nr, rip, rcx, r11_has_zf;
static volatile int count;

extern char here[], behind[];
/* A call of its own, with a known address; ZF is set before it. */
__asm__(".globl here, behind\n"
        "call_it: mov %rdi, %rax\n xor %edi, %edi\n xor %r10d, %r10d\n"
        "here: syscall\n"
        "behind: ret\n");
long call_it(long nr);

static void on_sys(int sig, siginfo_t *info, void *context) {
    ucontext_t *c = context;
    selector = 0;
    seen = *info;
    nr = c->uc_mcontext.gregs[REG_RAX];
    rip = c->uc_mcontext.gregs[REG_RIP];
    rcx = c->uc_mcontext.gregs[REG_RCX];
    r11_has_zf = c->uc_mcontext.gregs[REG_R11] >> 6 & 1;
    c->uc_mcontext.gregs[REG_RAX] = 4711;
    count++;
}

static long dispatch(long mode, void *from, unsigned long len, volatile char *sel) {
    return prctl(PR_SET_SYSCALL_USER_DISPATCH, mode, from, len, sel) ? -errno : 0;
}

/* Meanwhile the first thread makes no call: it would be caught. */
static volatile int begins, done;

static void *thread(void *arg) {
    while (!begins) {}
    selector = 1; /* not for this thread */
    *(long *)arg = call_it(SYS_getpid) == getpid();
    selector = 0;
    done = 1;
    return NULL;
}

static void child(const char *what, int kind) {
    fflush(stdout);
    pid_t p = fork();
    if (p == 0) {
        if (kind == 0) {
            selector = 1; /* off in a child */
            long r = call_it(SYS_getpid);
            selector = 0;
            _exit(r == getpid() ? 3 : 4);
        }
        if (kind == 1) {
            dispatch(1, 0, 0, &selector);
            selector = 7;
        } else {
            dispatch(1, 0, 0, (char *)0x1000);
        }
        call_it(SYS_getpid);
        _exit(5);
    }
    int st = 0;
    waitpid(p, &st, 0);
    printf("%s: %s %d\n", what, WIFEXITED(st) ? "exit" : "signal", WIFEXITED(st) ? WEXITSTATUS(st) : WTERMSIG(st));
}

int main(void) {
    struct sigaction act = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &act, NULL);

    printf("off with arguments: %ld\n", dispatch(0, here, 0, NULL));
    printf("no such mode: %ld\n", dispatch(17, 0, 0, NULL));
    printf("range wraps: %ld\n", dispatch(1, here, -1ul, NULL));
    printf("selector in the kernel: %ld\n", dispatch(1, 0, 0, (char *)-4096l));
    printf("on: %ld\n", dispatch(1, 0, 0, &selector));

    printf("allowed: %d\n", call_it(SYS_getpid) == getpid());
    selector = 1;
    long r = call_it(SYS_getppid);
    printf("blocked: returns %ld, handlers %d\n", r, count);
    printf("signo %d code %d errno %d call %d arch %x address %d\n", seen.si_signo, seen.si_code, seen.si_errno,
           seen.si_syscall == SYS_getppid, seen.si_arch, (char *)seen.si_call_addr == behind);
    printf("rax %d rip %d rcx %d zf %ld\n", nr == SYS_getppid, (char *)rip == behind, (char *)rcx == behind, r11_has_zf);
    selector = 1;
    r = call_it(100000);
    printf("no such call: returns %ld, %d\n", r, seen.si_syscall);

    printf("range: %ld\n", dispatch(1, here, behind + 1 - here, &selector));
    selector = 1;
    r = call_it(SYS_getpid);
    selector = 0;
    printf("from the range: %d\n", r == getpid());
    selector = 1;
    r = syscall(SYS_getuid);
    printf("from elsewhere: %ld\n", r);

    dispatch(1, 0, 0, &selector);
    pthread_t t;
    long ok = 0;
    pthread_create(&t, NULL, thread, &ok);
    begins = 1;
    while (!done) {}
    pthread_join(t, NULL);
    printf("a thread begins without: %ld\n", ok);
    child("a child begins without", 0);
    printf("off: %ld\n", dispatch(0, 0, 0, NULL));
    selector = 1;
    r = call_it(SYS_getpid);
    printf("allowed: %d, handlers %d\n", r == getpid(), count);
    selector = 0;
    child("selector of no meaning", 1);
    child("no selector there", 2);
    return 0;
}
