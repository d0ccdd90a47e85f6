/* Registers, signals and codes at the stops of a forked child that its parent traces. */
#define _GNU_SOURCE
#include <elf.h>
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
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
// modes: none memcheck
// errors: yes

extern char at_call[], after_call[], at_load[], after_int3[], at_store[], at_brk[];
static volatile int got;
static void handler(int sig) { got = sig; }

static struct user_regs_struct regs(pid_t p) {
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, p, 0, &r) != 0) perror("getregs");
    return r;
}
static void say(const char *what, int st) {
    if (WIFEXITED(st)) printf("%s: exit %d\n", what, WEXITSTATUS(st));
    else if (WIFSIGNALED(st)) printf("%s: signal %d\n", what, WTERMSIG(st));
    else printf("%s: stopped %d event %d\n", what, WSTOPSIG(st), st >> 16);
}
static int next(pid_t p, const char *what) {
    int st = 0;
    if (waitpid(p, &st, 0) != p) perror("waitpid");
    say(what, st);
    return st;
}
static void info(pid_t p) {
    siginfo_t i;
    memset(&i, 0, sizeof i);
    long r = ptrace(PTRACE_GETSIGINFO, p, 0, &i);
    printf("  info %ld", r);
    if (r == 0) printf(" %d code %d addr %d pid %d", i.si_signo, i.si_code, i.si_addr == (void *)16, i.si_pid == p);
    printf("\n");
}

static void child(void) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    register long r8v asm("r8") = 0x8888, r15v asm("r15") = 0x1515;
    long ax, cx = 0xcccc;
    long mypid = getpid();
    __asm__ volatile(
        "fninit\n fldpi\n movq %[bx], %%xmm3\n"
        ".globl at_call, after_call\nat_call: syscall\nafter_call:\n"
        : "=a"(ax) : "a"(SYS_kill), "D"(mypid), "S"(SIGSTOP), [bx]"r"(0x1234567890abcdefl), "r"(r8v), "r"(r15v)
        : "rcx", "r11", "memory", "xmm3");
    if (ax != 0) printf("kill says %ld\n", ax);
    signal(SIGSEGV, handler);
    signal(SIGSEGV, SIG_DFL);
    __asm__ volatile("mov $16, %%eax\n mov $0x77, %%ebx\n stc\n .globl at_load\nat_load: mov (%%rax), %%rcx\n mov %%rbx,%%rdx\n"
        : : : "rax", "rbx", "rcx", "rdx", "memory", "cc");
    __asm__ volatile("int3\n.globl after_int3\nafter_int3: nop\n");
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    printf("handler %d\n", got);
    got = 0;
    raise(SIGUSR1);
    printf("handler %d\n", got);
    raise(SIGUSR2);
    printf("no handler\n");
    raise(SIGCHLD);
    signal(SIGWINCH, SIG_IGN);
    raise(SIGWINCH);
    fflush(stdout);
    _exit(5);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    pid_t p = fork();
    if (p == 0) child();
    int st = next(p, "kill");
    info(p);
    struct user_regs_struct r = regs(p);
    printf("  rip %d rax %ld orig %ld r8 %llx r15 %llx rdi %d rcx %d cs %llx ss %llx ds %llx fs_base %d gs_base %llx\n", r.rip == (long)after_call, (long)r.rax,
           (long)r.orig_rax, r.r8, r.r15, r.rdi == p, r.rcx == r.rip, r.cs, r.ss, r.ds, r.fs_base != 0, r.gs_base);
    struct user_fpregs_struct fp;
    printf("  fpregs %ld", ptrace(PTRACE_GETFPREGS, p, 0, &fp));
    printf(" xmm3 %x%x st0 %x ftw %x rip %d\n", fp.xmm_space[13], fp.xmm_space[12], fp.st_space[1], fp.ftw,
           fp.rip == 0 || (fp.rip >= (long)child && fp.rip < (long)at_call));
    struct user_regs_struct set;
    struct iovec iov = {&set, sizeof set};
    printf("  regset %ld", ptrace(PTRACE_GETREGSET, p, NT_PRSTATUS, &iov));
    printf(" %zu same %d\n", iov.iov_len, memcmp(&set, &r, sizeof set) == 0);
    iov.iov_len = 40;
    printf("  regset %ld", ptrace(PTRACE_GETREGSET, p, NT_PRSTATUS, &iov));
    printf(" %zu\n", iov.iov_len);
    iov.iov_len = 41;
    printf("  regset %ld %d\n", ptrace(PTRACE_GETREGSET, p, NT_PRSTATUS, &iov), errno);
    char xs[8192];
    iov = (struct iovec){xs, sizeof xs};
    printf("  xstate %ld\n", ptrace(PTRACE_GETREGSET, p, NT_X86_XSTATE, &iov));
    errno = 0;
    printf("  peekuser %d", ptrace(PTRACE_PEEKUSER, p, offsetof(struct user, regs.rip), 0) == r.rip);
    printf(" %lx", ptrace(PTRACE_PEEKUSER, p, offsetof(struct user, regs.r15), 0));
    printf(" debug %lx", ptrace(PTRACE_PEEKUSER, p, offsetof(struct user, u_debugreg[7]), 0));
    printf(" errno %d", errno);
    long x = ptrace(PTRACE_PEEKUSER, p, 1, 0);
    printf(" odd %ld %d\n", x, errno);
    ptrace(PTRACE_CONT, p, 0, 0);

    st = next(p, "load");
    info(p);
    r = regs(p);
    printf("  rip %d rax %llx rbx %llx flags %llx orig %ld\n", r.rip == (long)at_load, r.rax, r.rbx, r.eflags & 0x10001, (long)r.orig_rax);
    int local = 5;
    r.rax = (long)&local;
    r.rip = (long)at_load;
    printf("  set %ld", ptrace(PTRACE_SETREGS, p, 0, &r));
    printf(" poke %ld\n", ptrace(PTRACE_POKEUSER, p, offsetof(struct user, regs.rbx), 0x99));
    r = regs(p);
    printf("  rbx %llx\n", r.rbx);
    ptrace(PTRACE_CONT, p, 0, 0);

    st = next(p, "int3");
    info(p);
    r = regs(p);
    printf("  rip %d rdx %llx rcx %d\n", r.rip == (long)after_int3, r.rdx, (int)r.rcx != 0);
    ptrace(PTRACE_CONT, p, 0, 0);

    st = next(p, "usr1");
    info(p);
    ptrace(PTRACE_CONT, p, 0, SIGUSR1);
    st = next(p, "usr1");
    ptrace(PTRACE_CONT, p, 0, 0);
    st = next(p, "usr2");
    ptrace(PTRACE_CONT, p, 0, 0);
    st = next(p, "chld");
    info(p);
    ptrace(PTRACE_CONT, p, 0, SIGCHLD);
    st = next(p, "winch");
    ptrace(PTRACE_CONT, p, 0, SIGWINCH);
    st = next(p, "end");

    p = fork();
    if (p == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        *(volatile int *)16 = 1;
    }
    st = next(p, "stop");
    ptrace(PTRACE_CONT, p, 0, SIGSTOP);
    st = next(p, "group");
    info(p);
    ptrace(PTRACE_CONT, p, 0, 0);
    st = next(p, "fault");
    ptrace(PTRACE_CONT, p, 0, SIGSEGV);
    st = next(p, "end");
    return 0;
}
