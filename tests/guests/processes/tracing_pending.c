/* A signal that comes while a tracee is stopped at the entry of a call, and one that its tracer injects there. */
#define _GNU_SOURCE
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

static volatile int got;
static void handler(int sig) { got++; }

int main(void) {
    int ends[2], st, entry = 1, kills = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    pipe(ends);
    write(ends[1], "a", 1);
    pid_t p = fork();
    if (p == 0) {
        char c;
        struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART};
        sigaction(SIGUSR1, &act, NULL);
        act.sa_flags = 0;
        sigaction(SIGUSR2, &act, NULL);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        long a = syscall(SYS_read, ends[0], &c, 1); /* has something to read */
        long b = syscall(SYS_read, ends[0], &c, 1); /* waits: interrupted */
        long d = syscall(SYS_getppid);
        syscall(SYS_write, 1, "", 0);
        _exit(a == 1 && b == -1 && d > 0 ? 10 + got : 9);
    }
    waitpid(p, &st, 0);
    ptrace(PTRACE_SETOPTIONS, p, 0, PTRACE_O_TRACESYSGOOD);
    for (int sig = 0;;) {
        ptrace(PTRACE_SYSCALL, p, 0, sig);
        sig = 0;
        waitpid(p, &st, 0);
        if (!WIFSTOPPED(st)) break;
        struct user_regs_struct r;
        ptrace(PTRACE_GETREGS, p, 0, &r);
        if (WSTOPSIG(st) == (SIGTRAP | 0x80)) {
            if (r.orig_rax == SYS_read || r.orig_rax == SYS_getppid)
                printf("%s %lld rax %lld\n", entry ? "entry" : "exit", r.orig_rax, r.orig_rax == SYS_getppid && !entry ? 1 : r.rax);
            if (entry && r.orig_rax == SYS_read)
                kill(p, ++kills == 1 ? SIGUSR1 : SIGUSR2);
            if (entry && r.orig_rax == SYS_getppid)
                sig = SIGUSR1;
            entry = !entry;
        } else {
            sig = WSTOPSIG(st);
            printf("signal %d rax %lld orig %lld\n", sig, r.orig_rax == SYS_getppid ? 1 : r.rax, r.orig_rax);
        }
    }
    printf("end %d\n", WEXITSTATUS(st));
    return 0;
}
