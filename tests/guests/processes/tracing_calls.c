/* PTRACE_SYSCALL on a forked child: its own calls only, with their numbers, arguments and results. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
// modes: none memcheck

static void nothing(int sig) { (void)sig; }

struct info {
    uint8_t op, pad[3];
    uint32_t arch;
    uint64_t ip, sp;
    union {
        struct { uint64_t nr, args[6]; } entry;
        struct { int64_t value; uint8_t is_error; } exit;
    };
};

static void child(int *ends) {
    char c;
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    syscall(SYS_getppid, 1, 2, 3, 4, 5, 6);
    void *p = mmap((void *)0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, 8192); /* the engine's own faults and calls are no business of a tracer's */
    mprotect(p, 4096, PROT_READ);
    munmap(p, 8192);
    syscall(SYS_close, -1);
    syscall(1000, 7);
    syscall(SYS_getuid);
    syscall(SYS_geteuid);
    signal(SIGUSR1, nothing);
    raise(SIGUSR1);
    read(ends[0], &c, 1);
    struct timespec t = {0, 1000000};
    nanosleep(&t, NULL);
    _exit(3);
}

static void until_it_reads(pid_t p) {
    char name[40], text[40] = "";
    sprintf(name, "/proc/%d/syscall", p);
    while (strncmp(text, "0 0x", 4) != 0) {
        FILE *f = fopen(name, "r");
        fgets(text, sizeof text, f);
        fclose(f);
    }
}

int main(void) {
    int ends[2], st, entry = 1, in_read = 0, sent = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    pipe(ends);
    pid_t p = fork();
    if (p == 0) child(ends);
    waitpid(p, &st, 0);
    printf("options %ld\n", ptrace(PTRACE_SETOPTIONS, p, 0, PTRACE_O_TRACESYSGOOD));
    for (int sig = 0, n = 0; n < 200; n++) {
        ptrace(PTRACE_SYSCALL, p, 0, sig);
        if (in_read) {
            until_it_reads(p);
            kill(p, SIGUSR1);
        }
        sig = in_read = 0;
        waitpid(p, &st, 0);
        if (!WIFSTOPPED(st)) break;
        struct user_regs_struct r;
        siginfo_t si;
        struct info i;
        unsigned long message = 0;
        memset(&i, 0, sizeof i);
        ptrace(PTRACE_GETREGS, p, 0, &r);
        ptrace(PTRACE_GETSIGINFO, p, 0, &si);
        ptrace(PTRACE_GETEVENTMSG, p, 0, &message);
        long size = ptrace(0x420e, p, sizeof i, &i);
        if (WSTOPSIG(st) == (SIGTRAP | 0x80)) {
            unsigned char code[2];
            long word = ptrace(PTRACE_PEEKTEXT, p, r.rip - 2, 0);
            printf("%s %lld rax %lld insn %lx rcx %d code %x signo %d pid %d message %lu; ", entry ? "entry" : "exit", r.orig_rax,
                   r.orig_rax == SYS_mmap && !entry ? 0 : r.orig_rax == SYS_tgkill || r.orig_rax == SYS_getpid || r.orig_rax == SYS_gettid || r.orig_rax == SYS_getppid ? 0 : r.rax, word & 0xffff, r.rcx == r.rip, si.si_code, si.si_signo,
                   si.si_pid == p, message);
            if (i.op == 1)
                printf("%ld op 1 arch %x nr %lu ip %d sp %d", size, i.arch, i.entry.nr, i.ip == r.rip, i.sp == r.rsp);
            else if (i.op == 2)
                printf("%ld op 2 error %d value %d", size, i.exit.is_error, i.exit.value == (int64_t)r.rax);
            else
                printf("op %d", i.op);
            printf("\n");
            if (entry && r.orig_rax == SYS_getppid)
                printf("  args %llu %llu %llu %llu %llu %llu = %lu %lu\n", r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9, i.entry.args[0], i.entry.args[5]);
            if (entry && r.orig_rax == SYS_getuid) { /* another call instead */
                r.orig_rax = SYS_close, r.rdi = 12345;
                ptrace(PTRACE_SETREGS, p, 0, &r);
            }
            if (entry && r.orig_rax == SYS_geteuid) { /* none */
                r.orig_rax = -1, r.rax = 77;
                ptrace(PTRACE_SETREGS, p, 0, &r);
            }
            if (entry && r.orig_rax == SYS_read && !sent++) in_read = 1;
            if (!entry && r.orig_rax == SYS_read && (long)r.rax == -512)
                write(ends[1], "x", 1);
            entry = !entry;
        } else {
            printf("stop %d rax %lld orig %lld info %ld op %d\n", WSTOPSIG(st), r.orig_rax == SYS_tgkill ? 0 : r.rax, r.orig_rax, size, i.op);
            sig = WSTOPSIG(st);
        }
    }
    printf("end %d\n", WIFEXITED(st) ? WEXITSTATUS(st) : -1);
    return 0;
}
