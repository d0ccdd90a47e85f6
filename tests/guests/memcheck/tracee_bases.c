/* What PTRACE_ARCH_PRCTL writes is defined; where it would write, is given as the address. */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    pid_t p = fork();
    if (p == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        _exit(0);
    }
    waitpid(p, NULL, 0);
    unsigned long fs, gs, left;
    ptrace(30 /* PTRACE_ARCH_PRCTL */, p, &fs, 0x1003 /* ARCH_GET_FS */);
    ptrace(30, p, &gs, 0x1004 /* ARCH_GET_GS */);
    if (fs == 1) puts("an odd base");
    if (gs == 1) puts("an odd base");
    ptrace(30, p, &left, 0x1005); /* nothing that it knows */
    if (left == 1) puts("left");
    ptrace(PTRACE_DETACH, p, 0, 0);
    waitpid(p, NULL, 0);
    return 0;
}
