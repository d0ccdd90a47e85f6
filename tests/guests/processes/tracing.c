/* A debugger's calls: a traced child stops, is read, changed, stepped and followed. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
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

static pid_t start(const char *script) {
    pid_t p = fork();
    if (p == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execl("/bin/sh", "sh", "-c", script, NULL);
        _exit(99);
    }
    return p;
}
static void say(const char *what, int st) {
    if (WIFEXITED(st))
        printf("%s: exit %d\n", what, WEXITSTATUS(st));
    else if (WIFSIGNALED(st))
        printf("%s: signal %d\n", what, WTERMSIG(st));
    else
        printf("%s: stopped %d event %d\n", what, WSTOPSIG(st), st >> 16);
}

int main(void) {
    int st;
    setvbuf(stdout, NULL, _IONBF, 0);
    pid_t p = start("exit 3");
    waitpid(p, &st, 0);
    say("exec", st);
    struct user_regs_struct regs;
    printf("getregs %ld", ptrace(PTRACE_GETREGS, p, 0, &regs));
    struct user_regs_struct set;
    struct iovec iov = {&set, sizeof set};
    printf(" getregset %ld", ptrace(PTRACE_GETREGSET, p, NT_PRSTATUS, &iov));
    printf(" %zu same %d\n", iov.iov_len, set.rip == regs.rip);
    errno = 0;
    long word = ptrace(PTRACE_PEEKTEXT, p, regs.rip, 0);
    printf("peek %d", errno);
    long user = ptrace(PTRACE_PEEKUSER, p, offsetof(struct user, regs.rip), 0);
    printf(" peekuser %d", user == (long)regs.rip);
    char code[8];
    struct iovec mine = {code, 8}, theirs = {(void *)regs.rip, 8};
    printf(" vm_readv %zd", process_vm_readv(p, &mine, 1, &theirs, 1, 0));
    printf(" %d\n", memcmp(code, &word, 8) == 0);
    int steps = 0;
    for (; steps < 50; steps++) {
        ptrace(PTRACE_SINGLESTEP, p, 0, 0);
        waitpid(p, &st, 0);
        if (!WIFSTOPPED(st) || WSTOPSIG(st) != SIGTRAP) break;
    }
    ptrace(PTRACE_GETREGS, p, 0, &regs);
    word = ptrace(PTRACE_PEEKTEXT, p, regs.rip, 0);
    printf("steps %d; poke int3 %ld", steps, ptrace(PTRACE_POKETEXT, p, regs.rip, (word & ~0xfful) | 0xcc));
    unsigned long at = regs.rip;
    ptrace(PTRACE_CONT, p, 0, 0);
    waitpid(p, &st, 0);
    ptrace(PTRACE_GETREGS, p, 0, &regs);
    siginfo_t si;
    printf(" siginfo %ld", ptrace(PTRACE_GETSIGINFO, p, 0, &si));
    printf(" code %x", si.si_code);
    printf(" stopped %d behind it %d\n", WSTOPSIG(st), regs.rip == at + 1);
    regs.rip = at;
    ptrace(PTRACE_POKETEXT, p, at, word);
    ptrace(PTRACE_SETREGS, p, 0, &regs);
    ptrace(PTRACE_CONT, p, 0, 0);
    waitpid(p, &st, 0);
    say("end", st);

    p = start("kill -USR1 $$; exit 4");
    waitpid(p, &st, 0);
    printf("options %ld\n", ptrace(PTRACE_SETOPTIONS, p, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL));
    int calls = 0, entry = 1, changed = 0;
    for (int sig = 0; !WIFEXITED(st) && !WIFSIGNALED(st);) {
        ptrace(PTRACE_SYSCALL, p, 0, sig);
        sig = 0;
        if (waitpid(p, &st, 0) != p) break;
        if (WIFSTOPPED(st) && WSTOPSIG(st) == (SIGTRAP | 0x80)) {
            ptrace(PTRACE_GETREGS, p, 0, &regs);
            if (entry && regs.orig_rax == SYS_getppid) changed++;
            if (entry && regs.orig_rax == SYS_exit_group) {
                regs.rdi = 44;
                ptrace(PTRACE_SETREGS, p, 0, &regs);
            }
            struct { uint8_t op, pad[3]; uint32_t arch; uint64_t ip, sp, nr, args[6]; } info;
            if (entry && ptrace(0x420e, p, sizeof info, &info) > 0 && info.op == 1 && info.nr == regs.orig_rax) calls++;
            entry = !entry;
        } else if (WIFSTOPPED(st)) {
            say("stop", st);
            if (WSTOPSIG(st) != SIGTRAP) entry = 1;
        }
    }
    say("end", st);
    printf("calls %d\n", calls > 10);

    p = start("(exit 1); (exit 2); exit 5");
    waitpid(p, &st, 0);
    ptrace(PTRACE_SETOPTIONS, p, 0, PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC);
    ptrace(PTRACE_CONT, p, 0, 0);
    int forks = 0, ends = 0;
    for (;;) {
        pid_t q = waitpid(-1, &st, __WALL);
        if (q < 0) break;
        if (WIFSTOPPED(st)) {
            int sig = WSTOPSIG(st);
            unsigned long message = 0;
            if (st >> 16) {
                ptrace(PTRACE_GETEVENTMSG, q, 0, &message);
                forks += message != 0;
            }
            ptrace(PTRACE_CONT, q, 0, sig == SIGTRAP || sig == SIGSTOP ? 0 : sig);
        } else {
            ends++;
        }
    }
    printf("forks %d ends %d\n", forks, ends);

    /* Attach to one that runs. */
    p = fork();
    if (p == 0) execl("/bin/sleep", "sleep", "100", NULL);
    char file[64], name[32] = "";
    sprintf(file, "/proc/%d/comm", p);
    while (strcmp(name, "sleep\n") != 0) {
        FILE *f = fopen(file, "r");
        fgets(name, sizeof name, f);
        fclose(f);
    }
    if (p > 0) {
        printf("seize %ld", ptrace(PTRACE_SEIZE, p, 0, 0));
        printf(" interrupt %ld", ptrace(PTRACE_INTERRUPT, p, 0, 0));
        waitpid(p, &st, __WALL);
        printf(" stopped %d event %d", WSTOPSIG(st), st >> 16);
        printf(" detach %ld\n", ptrace(PTRACE_DETACH, p, 0, 0));
        printf("attach %ld", ptrace(PTRACE_ATTACH, p, 0, 0));
        waitpid(p, &st, __WALL);
        printf(" stopped %d", WSTOPSIG(st));
        printf(" kill %d\n", kill(p, SIGKILL));
        waitpid(p, &st, __WALL);
        say("end", st);
    }
    printf("nobody %ld %d\n", ptrace(PTRACE_CONT, 1, 0, 0), errno);
    return 0;
}
