/* The signal of a stop that the kernel makes for a tracer comes from the tracee itself, and its user. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
// modes: none memcheck

static void show(pid_t p, const char *what) {
    siginfo_t si;
    int st;
    waitpid(p, &st, 0);
    ptrace(PTRACE_GETSIGINFO, p, 0, &si);
    printf("%s status %x signal %d code %x child %d user %d\n", what, st, si.si_signo, si.si_code, si.si_pid == p,
           si.si_uid == getuid());
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 1; /* a number that is not 0 */
    prctl(PR_SET_DUMPABLE, 1);
    pid_t p = fork();
    while (p == 0) usleep(1000);
    printf("%ld\n", ptrace(PTRACE_SEIZE, p, 0, PTRACE_O_TRACESYSGOOD));
    ptrace(PTRACE_INTERRUPT, p, 0, 0), show(p, "interrupt");
    ptrace(PTRACE_SYSCALL, p, 0, 0), show(p, "entry");
    ptrace(PTRACE_SYSCALL, p, 0, 0), show(p, "exit");
    ptrace(PTRACE_SINGLESTEP, p, 0, 0), show(p, "step");
    kill(p, SIGSTOP);
    ptrace(PTRACE_CONT, p, 0, 0), show(p, "signal");
    ptrace(PTRACE_CONT, p, 0, SIGSTOP), show(p, "group");
    kill(p, SIGKILL);
    waitpid(p, NULL, 0);
    return 0;
}
