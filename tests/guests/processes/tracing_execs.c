/* Tracers that follow a child by PTRACE_SYSCALL into the program it executes. */
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

static void follow(const char *name, int seize, long options, int stops) {
    int st, execs = 0;
    pid_t p = fork();
    if (p == 0) {
        char *argv[] = {"true", NULL}, *envp[] = {NULL};
        if (!seize) ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        execve("/nonexistent", argv, envp);
        execve("/bin/true", argv, envp);
        _exit(9);
    }
    if (seize) {
        waitpid(p, &st, WUNTRACED);
        ptrace(PTRACE_SEIZE, p, 0, options);
        kill(p, SIGCONT);
    }
    waitpid(p, &st, 0);
    printf("%s: %d event %d\n", name, WSTOPSIG(st), st >> 16);
    if (!seize) ptrace(PTRACE_SETOPTIONS, p, 0, options);
    int shown = 0, calls = 0;
    for (int sig = 0;;) {
        ptrace(PTRACE_SYSCALL, p, 0, sig);
        waitpid(p, &st, 0);
        if (!WIFSTOPPED(st)) break;
        struct user_regs_struct r;
        ptrace(PTRACE_GETREGS, p, 0, &r);
        calls++;
        if (r.orig_rax == SYS_execve || shown && shown < stops) {
            printf("  %d event %d call %lld rax %lld\n", WSTOPSIG(st), st >> 16, r.orig_rax, r.orig_rax == SYS_brk ? 0 : r.rax);
            if (r.orig_rax == SYS_execve) shown = 1; else shown++;
        }
        sig = WSTOPSIG(st) == SIGCONT || WSTOPSIG(st) == SIGUSR1 ? WSTOPSIG(st) : 0;
    }
    printf("%s: exit %d calls %d\n", name, WIFEXITED(st) ? WEXITSTATUS(st) : -1, calls > 20);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    follow("plain", 0, 0, 3);
    follow("sysgood", 0, PTRACE_O_TRACESYSGOOD, 3);
    follow("exec", 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC, 3);
    follow("seize", 1, PTRACE_O_TRACESYSGOOD, 3);
    follow("seize exec", 1, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT, 3);
    return 0;
}
