/* Single steps over fork, clone and their events; the new tasks do not step. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
// modes: none memcheck

extern char after_fork[], after_uid[];
static int st;
static void run(const char *name, long options, int at_event) {
    pid_t p = fork();
    if (p == 0) {
        long r;
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        __asm__ volatile("syscall\n.globl after_uid\nafter_uid: nop" : "=a"(r) : "a"(SYS_getuid) : "rcx", "r11", "memory");
        __asm__ volatile("syscall\n.globl after_fork\nafter_fork: nop" : "=a"(r) : "a"(SYS_fork) : "rcx", "r11", "memory");
        if (r == 0) _exit(6);
        waitpid(r, &st, 0);
        _exit(WIFEXITED(st) ? WEXITSTATUS(st) + 1 : 99);
    }
    waitpid(p, &st, 0);
    ptrace(PTRACE_SETOPTIONS, p, 0, options | PTRACE_O_EXITKILL);
    pid_t q = 0;
    int steps = 0, how = PTRACE_SINGLESTEP;
    for (;;) {
        struct user_regs_struct r;
        ptrace(how, p, 0, 0);
        waitpid(p, &st, 0);
        if (!WIFSTOPPED(st)) break;
        if (++steps > 3000) how = PTRACE_CONT;
        ptrace(PTRACE_GETREGS, p, 0, &r);
        siginfo_t si;
        ptrace(PTRACE_GETSIGINFO, p, 0, &si);
        if (r.rip == (long)after_uid && WSTOPSIG(st) == SIGTRAP) printf("%s: uid code %d r11 %llx flags %llx\n", name, si.si_code, r.r11 & 0x100, r.eflags & 0x100);
        if (st >> 16) {
            unsigned long m = 0;
            ptrace(PTRACE_GETEVENTMSG, p, 0, &m);
            q = m;
            printf("%s: event %d\n", name, st >> 16);
            how = at_event;
        } else if (r.rip == (long)after_fork && WSTOPSIG(st) == SIGTRAP) {
            printf("%s: fork code %d r11 %llx\n", name, si.si_code, r.r11 & 0x100);
            how = PTRACE_CONT;
        } else if (WSTOPSIG(st) != SIGTRAP && WSTOPSIG(st) != SIGCHLD) {
            printf("%s: stop %d\n", name, WSTOPSIG(st));
        }
        if (how == PTRACE_CONT && q) {
            int s;
            waitpid(q, &s, __WALL);
            printf("%s: child %x", name, s);
            ptrace(PTRACE_GETREGS, q, 0, &r);
            printf(" flags %llx\n", r.eflags & 0x100);
            ptrace(PTRACE_CONT, q, 0, 0);
            waitpid(q, &s, __WALL);
            printf("%s: child %x\n", name, s);
            q = 0;
        }
    }
    printf("%s: end %x\n", name, st);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    run("alone", 0, 0);
    run("followed", PTRACE_O_TRACEFORK, PTRACE_SINGLESTEP);
    run("let go", PTRACE_O_TRACEFORK, PTRACE_CONT);
    return 0;
}
