/* A filter leaves calls to the tracer, who lets them pass, changes them, or answers. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
// modes: none memcheck

static void child(void) {
    struct sock_filter f[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_umask, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE | 42),
    };
    struct sock_fprog prog = {sizeof f / sizeof *f, f};
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
    long a = syscall(SYS_getppid, 1, 2, 3), b = syscall(SYS_close, 777), e = errno, c = syscall(SYS_umask, 022);
    printf("%d %ld %ld %d\n", a == getppid(), b, c, e);
    fflush(stdout);
    _exit(0);
}

int main(void) {
    int st;
    setvbuf(stdout, NULL, _IOLBF, 0);
    pid_t p = fork();
    if (p == 0) child();
    waitpid(p, &st, 0);
    ptrace(PTRACE_SETOPTIONS, p, 0, PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD);
    for (;;) {
        ptrace(PTRACE_CONT, p, 0, 0);
        waitpid(p, &st, 0);
        if (!WIFSTOPPED(st)) break;
        struct user_regs_struct r;
        unsigned long message = 0;
        struct { uint8_t op, pad[3]; uint32_t arch; uint64_t ip, sp, nr, args[6]; uint32_t data; } i;
        memset(&i, 0, sizeof i);
        ptrace(PTRACE_GETREGS, p, 0, &r);
        ptrace(PTRACE_GETEVENTMSG, p, 0, &message);
        long size = ptrace(0x420e, p, sizeof i, &i);
        printf("stop %d event %d call %lld rax %lld rdi %lld message %lu; info %ld op %d nr %lu data %u ip %d\n", WSTOPSIG(st), st >> 16,
               r.orig_rax, r.rax, r.rdi, message, size, i.op, i.nr, i.data, i.ip == r.rip);
        if (r.orig_rax == SYS_close) {
            r.orig_rax = -1, r.rax = -EXDEV;
            ptrace(PTRACE_SETREGS, p, 0, &r);
        }
        if (r.orig_rax == SYS_umask) {
            r.rdi = 077;
            ptrace(PTRACE_SETREGS, p, 0, &r);
        }
    }
    printf("end %d\n", WEXITSTATUS(st));
    return 0;
}
