/* Debug registers that watch data of a forked child, and steps over repeated string instructions. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
// modes: none memcheck

static volatile long watched, other;
static int ends[2];
extern char after_store[], after_load[], at_rep[], after_rep[];

static void child(void) {
    char from[16] = "0123456789", to[16];
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    other = 1;
    __asm__ volatile("movq $5, %0\n.globl after_store\nafter_store: nop\n nop" : "=m"(watched));
    __asm__ volatile("mov %0, %%rax\n.globl after_load\nafter_load: mov %%rax, %1" : : "m"(watched), "m"(other) : "rax");
    read(ends[0], (void *)&watched, 8); /* the kernel's store is not seen */
    raise(SIGSTOP);
    void *src = from, *dst = to;
    long n = 4;
    __asm__ volatile("nop\n.globl at_rep, after_rep\nat_rep: rep movsb\nafter_rep: nop" : "+S"(src), "+D"(dst), "+c"(n) : : "memory");
    _exit(watched == 7 ? to[3] : 1);
}

int main(void) {
    int st;
    setvbuf(stdout, NULL, _IOLBF, 0);
    pipe(ends);
    long seven = 7;
    write(ends[1], &seven, 8);
    pid_t p = fork();
    if (p == 0) child();
    waitpid(p, &st, 0);
#define DR(n) offsetof(struct user, u_debugreg[n])
    printf("dr0 %ld", ptrace(PTRACE_POKEUSER, p, DR(0), &watched));
    printf(" dr7 %ld", ptrace(PTRACE_POKEUSER, p, DR(7), 1 | 0xb << 16)); /* 8 bytes, loads and stores */
    printf(" read %d %lx\n", ptrace(PTRACE_PEEKUSER, p, DR(0), 0) == (long)&watched, ptrace(PTRACE_PEEKUSER, p, DR(7), 0));
    for (int i = 0; i < 10; i++) {
        struct user_regs_struct r;
        siginfo_t si;
        ptrace(PTRACE_CONT, p, 0, 0);
        waitpid(p, &st, 0);
        if (!WIFSTOPPED(st)) break;
        ptrace(PTRACE_GETREGS, p, 0, &r);
        ptrace(PTRACE_GETSIGINFO, p, 0, &si);
        printf("stop %d code %d store %d load %d addr %d dr6 %lx\n", WSTOPSIG(st), si.si_code, r.rip == (long)after_store, r.rip == (long)after_load,
               si.si_addr == (void *)r.rip, ptrace(PTRACE_PEEKUSER, p, DR(6), 0) & 0xf);
        if (WSTOPSIG(st) == SIGSTOP) break;
    }
    ptrace(PTRACE_POKEUSER, p, DR(7), 0);
    int seen = 0;
    while (seen < 2) {
        struct user_regs_struct r;
        ptrace(PTRACE_SINGLESTEP, p, 0, 0);
        waitpid(p, &st, 0);
        if (!WIFSTOPPED(st)) break;
        ptrace(PTRACE_GETREGS, p, 0, &r);
        if (r.rip == (long)at_rep) printf("rep rcx %lld\n", r.rcx);
        if (r.rip == (long)after_rep) printf("behind rcx %lld\n", r.rcx), seen = 2;
    }
    ptrace(PTRACE_CONT, p, 0, 0);
    waitpid(p, &st, 0);
    printf("end %d\n", WIFEXITED(st) ? WEXITSTATUS(st) : -1);
    return 0;
}
