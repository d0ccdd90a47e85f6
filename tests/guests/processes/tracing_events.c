/* The events of a traced child that does not execute: forks, threads, ends; and tracees that were seized. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
// modes: none memcheck
// errors: yes

static int st;
static struct user_regs_struct regs(pid_t p) {
    struct user_regs_struct r;
    memset(&r, 0, sizeof r);
    if (ptrace(PTRACE_GETREGS, p, 0, &r) != 0) printf("getregs %d\n", errno);
    return r;
}
static void show(const char *what, pid_t p) {
    if (WIFSTOPPED(st)) {
        struct user_regs_struct r = regs(p);
        siginfo_t si;
        int sig = WSTOPSIG(st);
        memset(&si, 0, sizeof si);
        long e = ptrace(PTRACE_GETSIGINFO, p, 0, &si);
        printf("%s: stopped %d event %d info %ld %d code %x; rax %lld orig %lld\n", what, WSTOPSIG(st), st >> 16, e, si.si_signo, si.si_code,
               sig == SIGCHLD ? 0 : (long)r.rax, (long)r.orig_rax);
    } else if (WIFEXITED(st)) {
        printf("%s: exit %d\n", what, WEXITSTATUS(st));
    } else {
        printf("%s: signal %d\n", what, WTERMSIG(st));
    }
}
static unsigned long message(pid_t p) {
    unsigned long m = 0;
    ptrace(PTRACE_GETEVENTMSG, p, 0, &m);
    return m;
}
static void go(pid_t p, int how, int sig, const char *what) {
    ptrace(how, p, 0, sig);
    if (waitpid(p, &st, __WALL) != p) printf("waitpid %d\n", errno);
    show(what, p);
}
static void *thread(void *arg) { return arg; }

static void forks(void) {
    pid_t p = fork();
    if (p == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        pid_t q = syscall(SYS_fork);
        if (q == 0) _exit(7);
        waitpid(q, &st, 0);
        _exit(WEXITSTATUS(st) + 1);
    }
    waitpid(p, &st, 0);
    show("traceme", p);
    ptrace(PTRACE_SETOPTIONS, p, 0, PTRACE_O_TRACEFORK | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL);
    go(p, PTRACE_CONT, 0, "fork");
    pid_t q = message(p);
    waitpid(q, &st, __WALL);
    struct user_regs_struct a = regs(p), b = regs(q);
    printf("same place %d stack %d\n", a.rip == b.rip, a.rsp == b.rsp);
    show("child", q);
    go(q, PTRACE_CONT, 0, "child");
    printf("status %lx\n", message(q));
    go(q, PTRACE_CONT, 0, "child");
    go(p, PTRACE_CONT, 0, "parent");
    go(p, PTRACE_CONT, SIGCHLD, "parent");
    printf("status %lx\n", message(p));
    go(p, PTRACE_CONT, 0, "parent");
}

static void threads(void) {
    pid_t p = fork();
    if (p == 0) {
        pthread_t t;
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        pthread_create(&t, NULL, thread, NULL);
        pthread_join(t, NULL);
        *(volatile int *)16 = 1;
    }
    waitpid(p, &st, 0);
    ptrace(PTRACE_SETOPTIONS, p, 0, PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT);
    go(p, PTRACE_CONT, 0, "clone");
    pid_t q = message(p);
    waitpid(q, &st, __WALL);
    show("thread", q);
    struct user_regs_struct a = regs(p), b = regs(q);
    printf("same place %d stack %d\n", a.rip == b.rip, a.rsp == b.rsp);
    go(q, PTRACE_CONT, 0, "thread");
    printf("status %lx\n", message(q));
    go(q, PTRACE_CONT, 0, "thread");
    go(p, PTRACE_CONT, 0, "main");
    go(p, PTRACE_CONT, SIGSEGV, "main");
    printf("status %lx\n", message(p) & 0x7f);
    go(p, PTRACE_CONT, 0, "main");
}

/* Until it sleeps in that call. */
static void until(pid_t p, const char *call) {
    char name[40], text[80] = "";
    sprintf(name, "/proc/%d/syscall", p);
    while (strncmp(text, call, strlen(call)) != 0) {
        FILE *f = fopen(name, "r");
        fgets(text, sizeof text, f);
        fclose(f);
    }
}

static void seized(void) {
    int ends[2];
    char c;
    pipe(ends);
    volatile int *spins = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t p = fork();
    if (p == 0)
        for (;;) *spins = 1;
    while (!*spins) sched_yield();
    printf("seize %ld", ptrace(PTRACE_SEIZE, p, 0, PTRACE_O_TRACESYSGOOD));
    printf(" interrupt %ld\n", ptrace(PTRACE_INTERRUPT, p, 0, 0));
    waitpid(p, &st, 0);
    printf("seized: stopped %d event %d here %d\n", WSTOPSIG(st), st >> 16, regs(p).rip >= (long)seized - 4096 && regs(p).rip < (long)seized + 4096);
    siginfo_t si;
    printf("info %ld", ptrace(PTRACE_GETSIGINFO, p, 0, &si));
    printf(" %d code %x pid %d\n", si.si_signo, si.si_code, si.si_pid == p);
    ptrace(PTRACE_CONT, p, 0, 0);
    kill(p, SIGSTOP);
    waitpid(p, &st, 0);
    printf("stop: %d event %d\n", WSTOPSIG(st), st >> 16);
    ptrace(PTRACE_CONT, p, 0, SIGSTOP);
    waitpid(p, &st, 0);
    printf("group: %d event %d\n", WSTOPSIG(st), st >> 16);
    printf("listen %ld\n", ptrace(PTRACE_LISTEN, p, 0, 0));
    kill(p, SIGCONT);
    waitpid(p, &st, 0);
    printf("continued: %d event %d\n", WSTOPSIG(st), st >> 16);
    ptrace(PTRACE_CONT, p, 0, 0);
    waitpid(p, &st, 0);
    printf("cont: %d event %d\n", WSTOPSIG(st), st >> 16);
    printf("detach %ld\n", ptrace(PTRACE_DETACH, p, 0, 0));
    printf("attach %ld\n", ptrace(PTRACE_ATTACH, p, 0, 0));
    waitpid(p, &st, 0);
    printf("attached: %d event %d here %d\n", WSTOPSIG(st), st >> 16, regs(p).rip >= (long)seized - 4096 && regs(p).rip < (long)seized + 4096);
    printf("kill %ld\n", ptrace(PTRACE_KILL, p, 0, 0));
    waitpid(p, &st, 0);
    show("end", p);

    /* In a call that sleeps. */
    p = fork();
    if (p == 0) {
        write(ends[1], "x", 1);
        struct timespec t = {100, 0};
        nanosleep(&t, NULL);
        _exit(1);
    }
    read(ends[0], &c, 1);
    until(p, "230 0x0 0x0 ");
    ptrace(PTRACE_ATTACH, p, 0, 0);
    waitpid(p, &st, 0);
    show("asleep", p);
    go(p, PTRACE_SYSCALL, 0, "again");
    ptrace(PTRACE_CONT, p, 0, 0);
    until(p, "219 ");
    kill(p, SIGTERM);
    waitpid(p, &st, 0);
    show("term", p);
    go(p, PTRACE_CONT, SIGTERM, "end");
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    forks();
    threads();
    seized();
    return 0;
}
