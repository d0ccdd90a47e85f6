/* PTRACE_SYSEMU: the tracer makes a child's calls in its place. */
#define _GNU_SOURCE
#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
// modes: none memcheck

int main(void) {
    int st, calls = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    pid_t p = fork();
    if (p == 0) {
        unsigned int xmm[4];
        static const unsigned int ones[4] = {1, 1, 1, 1};
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        __asm__ volatile("movups %0, %%xmm7" : : "m"(ones) : "xmm7");
        long a = syscall(SYS_getppid), b = syscall(SYS_write, 1, "not written\n", 12), c = syscall(4321);
        __asm__ volatile("movups %%xmm7, %0" : "=m"(xmm));
        syscall(SYS_exit_group, a + b + c + xmm[3]);
        _exit(0);
    }
    waitpid(p, &st, 0);
    ptrace(PTRACE_SETOPTIONS, p, 0, PTRACE_O_TRACESYSGOOD);
    for (;;) {
        struct user_regs_struct r;
        ptrace(calls < 4 ? 31 /* PTRACE_SYSEMU */ : PTRACE_CONT, p, 0, 0);
        waitpid(p, &st, 0);
        if (!WIFSTOPPED(st)) break;
        ptrace(PTRACE_GETREGS, p, 0, &r);
        printf("stop %x call %lld rax %lld\n", WSTOPSIG(st), r.orig_rax, (long)r.rax);
        calls++;
        r.rax = calls * 10;
        struct iovec iov = {&r, sizeof r};
        printf("set %ld\n", ptrace(PTRACE_SETREGSET, p, NT_PRSTATUS, &iov));
        if (r.orig_rax == SYS_getppid) {
            struct user_fpregs_struct fp;
            printf("fp %ld", ptrace(PTRACE_GETFPREGS, p, 0, &fp));
            printf(" xmm7 %u", fp.xmm_space[28]);
            fp.xmm_space[31] = 5;
            printf(" set %ld\n", ptrace(PTRACE_SETFPREGS, p, 0, &fp));
        }
        if (r.orig_rax == SYS_exit_group) { /* to be made after all */
            r.rip -= 2, r.rax = SYS_exit_group;
            ptrace(PTRACE_SETREGS, p, 0, &r);
            calls = 4;
        }
    }
    printf("end %d\n", WIFEXITED(st) ? WEXITSTATUS(st) : -1);
    return 0;
}
