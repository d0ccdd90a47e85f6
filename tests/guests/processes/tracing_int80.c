/* PTRACE_SYSCALL at i386 system calls of 64-bit code. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
// modes: none memcheck
// errors: yes

static long call32(long nr, long b, long c) {
    long r;
    __asm__ volatile("int $0x80" : "=a"(r) : "a"(nr), "b"(b), "c"(c), "d"(0), "S"(0), "D"(0) : "memory", "r8", "r9", "r10", "r11");
    return r;
}

int main(void) {
    int st, entry = 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    pid_t p = fork();
    if (p == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        long a = call32(6, -1, 11);
        call32(6, -1, 12);
        long b = call32(199, 0, 0); /* close, getuid32 */
        _exit(a == -9 && b == getuid() ? 5 : 6);
    }
    waitpid(p, &st, 0);
    for (int turn = 0;; turn++) {
        if (turn == 4) ptrace(PTRACE_SETOPTIONS, p, 0, PTRACE_O_TRACESYSGOOD);
        ptrace(PTRACE_SYSCALL, p, 0, 0);
        waitpid(p, &st, 0);
        if (!WIFSTOPPED(st) || (WSTOPSIG(st) & 0x7f) != SIGTRAP) break;
        struct user_regs_struct r;
        struct { uint8_t op, pad[3]; uint32_t arch; uint64_t ip, sp, nr, args[6]; } i;
        memset(&i, 0, sizeof i);
        ptrace(PTRACE_GETREGS, p, 0, &r);
        ptrace(0x420e, p, sizeof i, &i);
        if (i.arch == 0x40000003)
            printf("%s %lld rax %lld rbx %llx rcx %llx; op %d nr %lu args %lx %lx\n", entry ? "entry" : "exit", r.orig_rax, r.rax,
                   r.rbx, r.rcx, i.op, i.op == 1 ? i.nr : 0, i.op == 1 ? i.args[0] : 0, i.op == 1 ? i.args[1] : 0);
        entry = !entry;
    }
    printf("end %x\n", st);
    return 0;
}
