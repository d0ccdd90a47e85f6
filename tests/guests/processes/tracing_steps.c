/* Breakpoints that a tracer writes, and its single steps, in a forked child. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
// modes: none memcheck

extern char first[], second[], third[], last[], loop_end[];
__attribute__((noinline)) static long work(long a) {
    long r;
    __asm__ volatile(".globl first, second, third, last\n"
                     "first: mov %1, %0\n"
                     "second: add $5, %0\n"
                     "jmp third\n"
                     "nop\n"
                     "third: push %0\n"
                     "call 1f\n"
                     "jmp 2f\n"
                     "1: ret\n"
                     "2: pop %0\n"
                     "pushfq\n"
                     "popfq\n"
                     "last: nop\n"
                     : "=&r"(r) : "r"(a) : "memory", "cc");
    return r;
}
static void handler(int sig) { (void)sig; }

static void child(void) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    signal(SIGUSR1, handler);
    long sum = work(1);
    raise(SIGSTOP);
    for (int i = 0; i < 3; i++) sum += work(i);
    raise(SIGSTOP);
    sum += work(100);
    syscall(SYS_getppid);
    raise(SIGUSR1);
    _exit((int)sum);
}
static int st;
static struct user_regs_struct regs(pid_t p) {
    struct user_regs_struct r;
    ptrace(PTRACE_GETREGS, p, 0, &r);
    return r;
}
static void go(pid_t p, int how, int sig) {
    ptrace(how, p, 0, sig);
    waitpid(p, &st, 0);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    pid_t p = fork();
    if (p == 0) child();
    waitpid(p, &st, 0);
    long word = ptrace(PTRACE_PEEKTEXT, p, second, 0);
    printf("poke %ld\n", ptrace(PTRACE_POKETEXT, p, second, (word & ~0xffl) | 0xcc));
    for (int i = 0; i < 3; i++) {
        go(p, PTRACE_CONT, 0);
        struct user_regs_struct r = regs(p);
        siginfo_t si;
        ptrace(PTRACE_GETSIGINFO, p, 0, &si);
        printf("hit %d at %d code %d\n", WSTOPSIG(st), (int)(r.rip - (long)second), si.si_code);
        r.rip--;
        ptrace(PTRACE_SETREGS, p, 0, &r);
        ptrace(PTRACE_POKETEXT, p, second, word);
        if (i < 2) {
            go(p, PTRACE_SINGLESTEP, 0);
            ptrace(PTRACE_GETSIGINFO, p, 0, &si);
            r = regs(p);
            printf("step %d at %d code %d addr %d flags %llx\n", WSTOPSIG(st), (int)(r.rip - (long)second), si.si_code, (int)((char *)si.si_addr - second), r.eflags & 0x100);
            ptrace(PTRACE_POKETEXT, p, second, (word & ~0xffl) | 0xcc);
        }
    }
    go(p, PTRACE_CONT, 0);
    printf("stop %d\n", WSTOPSIG(st));
    int inside = 0, calls = 0, handlers = 0, total = 0;
    for (int sig = 0; total < 20000; total++) {
        go(p, PTRACE_SINGLESTEP, sig);
        sig = 0;
        if (!WIFSTOPPED(st)) break;
        struct user_regs_struct r = regs(p);
        siginfo_t si;
        memset(&si, 0, sizeof si);
        ptrace(PTRACE_GETSIGINFO, p, 0, &si);
        if (WSTOPSIG(st) != SIGTRAP) {
            sig = WSTOPSIG(st);
            printf("signal %d\n", sig);
        }
        if (r.rip >= (long)first && r.rip <= (long)last) {
            inside++;
            printf("%d:%d code %d flags %llx\n", WSTOPSIG(st), (int)(r.rip - (long)first), si.si_code, r.eflags & 0x100);
        }
        word = ptrace(PTRACE_PEEKTEXT, p, r.rip - 2, 0);
        if ((word & 0xffff) == 0x050f && WSTOPSIG(st) == SIGTRAP && r.rcx == r.rip) {
            calls++;
            if (r.orig_rax == SYS_getppid) printf("getppid: code %d orig %lld addr %d\n", si.si_code, r.orig_rax, si.si_addr == (void *)r.rip);
        }
        if (r.rip == (long)handler) {
            handlers++;
            printf("handler: %d code %d orig %lld\n", WSTOPSIG(st), si.si_code, r.orig_rax);
        }
    }
    printf("inside %d handlers %d calls %d steps %d\n", inside, handlers, calls > 3, total > 100);
    printf("end %d\n", WIFEXITED(st) ? WEXITSTATUS(st) : -1);
    return 0;
}
