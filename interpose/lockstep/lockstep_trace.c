/* Lockstep: two processes under ptrace.  Hardware breakpoints, because a forked
 * child inherits a poked int3 but no debug register. */
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/channel.h"
#include "abi/space.h"
#include "abi/tstate.h"
#include "lockstep/lockstep_priv.h"

int ls_fail(struct ip_ls *l, const char *what) {
    l->error = errno;
    snprintf(l->text, sizeof l->text, "%s", what);
    return -1;
}

int64_t ip_ls_read(int pid, uint64_t addr, void *buf, uint64_t len) {
    /* One piece a page: an unreadable page must not take the bytes before it along. */
    uint64_t done = 0;
    while (done < len) {
        uint64_t a = addr + done, n = 4096 - (a & 4095);
        if (n > len - done) n = len - done;
        struct iovec to = {(char *)buf + done, n}, from = {(void *)a, n};
        if (process_vm_readv(pid, &to, 1, &from, 1, 0) != (ssize_t)n) break;
        done += n;
    }
    return (int64_t)done;
}

int64_t ls_copy(int to_pid, int from_pid, uint64_t addr, uint64_t len) {
    char page[4096];
    for (uint64_t done = 0; done < len;) {
        uint64_t a = addr + done, n = 4096 - (a & 4095);
        if (n > len - done) n = len - done;
        if (ip_ls_read(from_pid, a, page, n) != (int64_t)n) return (int64_t)done;
        struct iovec from = {page, n}, to = {(void *)a, n};
        if (process_vm_writev(to_pid, &from, 1, &to, 1, 0) != (ssize_t)n) return (int64_t)done;
        done += n;
    }
    return (int64_t)len;
}

_Static_assert(sizeof((struct ip_ls *)0)->ring / sizeof(struct ip_ls_step) == IP_LS_RING &&
                   sizeof((struct ip_ls *)0)->x_t == IP_LS_XSAVE && sizeof((struct ip_ls *)0)->pcs == 8 * IP_LS_BLOCK &&
                   sizeof((struct ip_ls *)0)->writes == sizeof(struct ip_ls_write) * IP_LS_WRITES &&
                   sizeof((struct ip_ls *)0)->frames == sizeof(struct ip_ls_regs) * IP_LS_FRAMES,
               "cffi wants the sizes of arrays as numbers");

/* ---- Registers -------------------------------------------------------------------- */

static uint64_t from_user(struct ip_ls_regs *r, const struct user_regs_struct *u) {
    const uint64_t gpr[16] = {u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi,
                              u->r8,  u->r9,  u->r10, u->r11, u->r12, u->r13, u->r14, u->r15};
    memcpy(r->gpr, gpr, sizeof gpr);
    r->rflags = u->eflags;
    r->pc = u->rip;
    return u->fs_base;
}

static void to_user(struct user_regs_struct *u, const struct ip_ls_regs *r) {
    const uint64_t *g = r->gpr;
    u->rax = g[IP_RAX], u->rcx = g[IP_RCX], u->rdx = g[IP_RDX], u->rbx = g[IP_RBX];
    u->rsp = g[IP_RSP], u->rbp = g[IP_RBP], u->rsi = g[IP_RSI], u->rdi = g[IP_RDI];
    u->r8 = g[IP_R8], u->r9 = g[IP_R9], u->r10 = g[IP_R10], u->r11 = g[IP_R11];
    u->r12 = g[IP_R12], u->r13 = g[IP_R13], u->r14 = g[IP_R14], u->r15 = g[IP_R15];
    u->eflags = r->rflags;
    u->rip = r->pc;
    u->orig_rax = (uint64_t)-1; /* no system call to restart */
}

int ls_get_n(struct ip_ls *l) {
    struct user_regs_struct u;
    if (ptrace(PTRACE_GETREGS, l->n_pid, 0, &u)) return ls_fail(l, "read N's registers");
    from_user(&l->n, &u);
    l->n_fs = u.fs_base;
    l->n_gs = u.gs_base;
    return 0;
}

int ls_set(struct ip_ls *l, int pid, const struct ip_ls_regs *r) {
    struct user_regs_struct u;
    if (ptrace(PTRACE_GETREGS, pid, 0, &u)) return ls_fail(l, "read registers");
    to_user(&u, r);
    if (ptrace(PTRACE_SETREGS, pid, 0, &u)) return ls_fail(l, "set registers");
    return 0;
}

int ls_get_vector(struct ip_ls *l, int pid, uint8_t *image) {
    struct iovec v = {image, IP_LS_XSAVE};
    if (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &v)) return ls_fail(l, "read vector registers");
    l->xsave_size = (uint32_t)v.iov_len;
    return 0;
}

int ls_set_n_vector(struct ip_ls *l, uint8_t *image) {
    struct iovec v = {image, l->xsave_size};
    if (ptrace(PTRACE_SETREGSET, l->n_pid, NT_X86_XSTATE, &v)) return ls_fail(l, "set vector registers");
    return 0;
}

int ip_ls_component(int component) {
    unsigned a, b, c, d;
    if (component < 2 || !__get_cpuid_count(0xd, 0, &a, &b, &c, &d) || !(a >> component & 1)) return -1;
    __get_cpuid_count(0xd, (unsigned)component, &a, &b, &c, &d);
    return (int)b;
}

/* Execution breakpoint 0 of a process; 0 takes it away. */
static int ls_break(struct ip_ls *l, int pid, uint64_t at) {
    long off0 = offsetof(struct user, u_debugreg[0]), off7 = offsetof(struct user, u_debugreg[7]);
    if (ptrace(PTRACE_POKEUSER, pid, off7, 0L)) return ls_fail(l, "clear a breakpoint");
    if (at && (ptrace(PTRACE_POKEUSER, pid, off0, at) || ptrace(PTRACE_POKEUSER, pid, off7, 1L)))
        return ls_fail(l, "set a hardware breakpoint");
    return 0;
}

/* ---- T ---------------------------------------------------------------------------------- */

int ip_ls_traceme(void) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0)) return -errno;
    return raise(SIGSTOP);
}

static int wait_for(int pid, int *status) {
    while (waitpid(pid, status, __WALL) < 0)
        if (errno != EINTR) return -1;
    return 0;
}

/* T ended, or it runs another program. */
static int t_left(struct ip_ls *l, int status) {
    l->t_status = status;
    if (!WIFSTOPPED(status)) return l->t_ended = 1;
    if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) return l->t_ended = 2;
    return 0;
}

/* T runs until its breakpoint; signals reach it.  0; 1 if it ended (t_ended). */
int ls_t_run(struct ip_ls *l, uint64_t until) {
    struct user_regs_struct u;
    int status;
    long sig = 0;
    for (;;) {
        if (ptrace(PTRACE_CONT, l->t_pid, 0, sig) || wait_for(l->t_pid, &status)) {
            if (errno != ESRCH || wait_for(l->t_pid, &status)) return ls_fail(l, "run T");
        }
        if (t_left(l, status)) return 1;
        sig = WSTOPSIG(status);
        siginfo_t info;
        if (ptrace(PTRACE_GETSIGINFO, l->t_pid, 0, &info)) {
            sig = 0; /* a group stop, not a signal */
            continue;
        }
        if (sig != SIGTRAP) continue;
        if (ptrace(PTRACE_GETREGS, l->t_pid, 0, &u)) return ls_fail(l, "read T's registers");
        if (u.rip == until) break;
    }
    l->ts = from_user(&l->t, &u);
    uint64_t state[2]; /* tstate.pc and tstate.target */
    if (until != l->enter_jump) return 0;
    if (ip_ls_read(l->t_pid, l->ts + offsetof(struct tstate, pc), state, sizeof state) != sizeof state)
        return ls_fail(l, "read T's state");
    l->key = state[0];
    l->target = state[1];
    l->t.pc = state[0] & IP_KEY_PC;
    return 0;
}

static int read_symbols(struct ip_ls *l) {
    uint64_t sym[32];
    uint64_t at = IP_CHAN_BASE + offsetof(struct ip_chan, rt_symbols);
    if (ip_ls_read(l->t_pid, at, sym, sizeof sym) != sizeof sym || !sym[IP_SYM_ENTER_JUMP]) return 0;
    l->enter_jump = sym[IP_SYM_ENTER_JUMP];
    l->run_native = sym[IP_SYM_RUN_NATIVE];
    l->kernel_insn = sym[IP_SYM_KERNEL_INSN];
    l->watched = sym[IP_SYM_WATCHED];
    return 1;
}

int ip_ls_start(struct ip_ls *l, int pid) {
    int status;
    long sig = 0;
    bool executed = false;
    l->t_pid = pid;
    if (wait_for(pid, &status)) return ls_fail(l, "wait for the program");
    if (t_left(l, status) == 1) return -1;
    if (ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD))
        return ls_fail(l, "trace the program");
    /* The launcher executes the runtime, which tells its addresses before its first requests. */
    for (;;) {
        if (ptrace(executed ? PTRACE_SYSCALL : PTRACE_CONT, pid, 0, sig)) return ls_fail(l, "start the program");
        if (wait_for(pid, &status)) return ls_fail(l, "wait for the program");
        sig = 0;
        if (t_left(l, status) == 1) return -1;
        if (l->t_ended == 2) {
            l->t_ended = 0;
            executed = true;
        } else if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            if (executed && read_symbols(l)) break;
        } else {
            sig = WSTOPSIG(status);
        }
    }
    if (ls_break(l, pid, l->enter_jump)) return -1;
    return ls_t_run(l, l->enter_jump) ? -1 : 0;
}

int ip_ls_run_to(struct ip_ls *l, uint64_t pc) {
    uint64_t at = IP_CHAN_BASE + offsetof(struct ip_chan, watch_pc), none = 0;
    struct iovec from = {&pc, 8}, to = {(void *)at, 8}, off = {&none, 8};
    if (l->t.pc == pc) return 0;
    if (process_vm_writev(l->t_pid, &from, 1, &to, 1, 0) != 8) return ls_fail(l, "tell T where to stop");
    if (ls_break(l, l->t_pid, l->watched) || ls_t_run(l, l->watched)) return -1;
    if (process_vm_writev(l->t_pid, &off, 1, &to, 1, 0) != 8) return ls_fail(l, "tell T to go on");
    if (ls_break(l, l->t_pid, l->enter_jump) || ls_t_run(l, l->enter_jump)) return -1;
    if (l->t.pc == pc) return 0;
    errno = 0;
    return ls_fail(l, "a signal came at the very place");
}

/* ---- N ------------------------------------------------------------------------------------ */

/* One stop of N.  0: a trap at a step or breakpoint; 1: a fault of its own (n_signal). */
static int n_wait(struct ip_ls *l, int *other) {
    int status;
    *other = 0;
    if (wait_for(l->n_pid, &status)) return ls_fail(l, "wait for N");
    if (!WIFSTOPPED(status)) {
        errno = 0;
        return ls_fail(l, "N is gone (killed?)");
    }
    int sig = WSTOPSIG(status);
    siginfo_t info;
    if (ptrace(PTRACE_GETSIGINFO, l->n_pid, 0, &info)) {
        *other = 1;
        return 0;
    }
    if (sig == SIGTRAP && info.si_code != SI_KERNEL && info.si_code > 0) return 0;
    if (info.si_code > 0 && (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP)) {
        l->n_signal = sig;
        l->n_code = info.si_code;
        l->n_addr = (uint64_t)info.si_addr;
        return 1;
    }
    *other = 1; /* sent by somebody: T's business */
    return 0;
}

int ls_n_step(struct ip_ls *l) {
    uint64_t pc = l->n.pc;
    for (;;) {
        int other, r;
        if (ptrace(PTRACE_SINGLESTEP, l->n_pid, 0, 0)) return ls_fail(l, "step N");
        r = n_wait(l, &other);
        if (r < 0 || ls_get_n(l)) return -1;
        if (r) return 1;
        if (!other || l->n.pc != pc) return 0;
    }
}

int ls_n_run(struct ip_ls *l, uint64_t until) {
    if (ls_break(l, l->n_pid, until)) return -1;
    for (;;) {
        int other, r;
        if (ptrace(PTRACE_CONT, l->n_pid, 0, 0)) return ls_fail(l, "run N");
        r = n_wait(l, &other);
        if (r < 0 || ls_get_n(l)) return -1;
        if (r == 0 && l->n.pc != until) continue;
        if (ls_break(l, l->n_pid, 0)) return -1;
        return r;
    }
}

/* T makes a fork that is nobody's child but ours, and that it does not hear of. */
static int fork_t(struct ip_ls *l) {
    struct user_regs_struct saved, u;
    int status;
    unsigned long child = 0;
    if (ptrace(PTRACE_GETREGS, l->t_pid, 0, &saved)) return ls_fail(l, "read T's registers");
    u = saved;
    u.rip = l->kernel_insn;
    u.rax = SYS_clone;
    u.orig_rax = (uint64_t)-1;
    u.rdi = 0x8000; /* CLONE_PARENT, no signal at its end */
    u.rsi = u.rdx = u.r10 = u.r8 = 0;
    if (ptrace(PTRACE_SETOPTIONS, l->t_pid, 0,
               PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK) ||
        ptrace(PTRACE_SETREGS, l->t_pid, 0, &u))
        return ls_fail(l, "prepare a fork");
    for (;;) {
        if (ptrace(PTRACE_SINGLESTEP, l->t_pid, 0, 0) || wait_for(l->t_pid, &status) || t_left(l, status))
            return ls_fail(l, "fork");
        int event = status >> 16;
        if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK) {
            ptrace(PTRACE_GETEVENTMSG, l->t_pid, 0, &child);
            continue;
        }
        if (ptrace(PTRACE_GETREGS, l->t_pid, 0, &u)) return ls_fail(l, "fork");
        if (u.rip == l->kernel_insn + 2) break;
    }
    if (!child) {
        errno = (int)-(long)u.rax;
        return ls_fail(l, "fork");
    }
    l->n_pid = (int)child;
    if (ptrace(PTRACE_SETREGS, l->t_pid, 0, &saved) ||
        ptrace(PTRACE_SETOPTIONS, l->t_pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC) || wait_for(l->n_pid, &status) ||
        !WIFSTOPPED(status) || ptrace(PTRACE_SETOPTIONS, l->n_pid, 0, PTRACE_O_EXITKILL))
        return ls_fail(l, "trace the fork");
    return 0;
}

/* rt_native_jump: the flags and the pc, below the red zone. */
#define NATIVE_BELOW 144
#define NATIVE_BYTES 16

int ip_ls_fork(struct ip_ls *l) {
    uint64_t rt_sp;
    if (fork_t(l) || ls_get_n(l)) return -1;
    if (ip_ls_read(l->t_pid, l->ts + offsetof(struct tstate, rt_sp), &rt_sp, 8) != 8)
        return ls_fail(l, "read T's state");
    struct ip_ls_regs r = l->n;
    r.pc = l->run_native;
    r.gpr[IP_RDI] = l->ts;
    r.gpr[IP_RSP] = rt_sp - 8; /* as a call leaves it */
    r.rflags = 0x202;
    if (ls_set(l, l->n_pid, &r)) return -1;
    if (ls_n_run(l, l->t.pc)) {
        errno = 0;
        return ls_fail(l, "N did not arrive on the real CPU");
    }
    /* It went by way of the stack (native_asm.S), and a program may read what lies there before it writes it.  Where
     * T's stack does not reach so far yet there is nothing to read. */
    ls_copy(l->n_pid, l->t_pid, l->t.gpr[IP_RSP] - NATIVE_BELOW, NATIVE_BYTES);
    return ls_get_vector(l, l->n_pid, l->x_n); /* xsave_size */
}

int64_t ip_ls_syscall(struct ip_ls *l, int64_t nr, const uint64_t args[6]) {
    struct ip_ls_regs saved = l->n, r = l->n;
    static const uint8_t order[6] = {IP_RDI, IP_RSI, IP_RDX, IP_R10, IP_R8, IP_R9};
    for (int i = 0; i < 6; i++) r.gpr[order[i]] = args[i];
    r.gpr[IP_RAX] = (uint64_t)nr;
    r.pc = l->kernel_insn;
    if (ls_set(l, l->n_pid, &r)) return -ESRCH;
    l->n = r;
    if (ls_n_step(l)) return -ESRCH;
    int64_t result = (int64_t)l->n.gpr[IP_RAX];
    if (ls_set(l, l->n_pid, &saved) || ls_get_n(l)) return -ESRCH;
    return result;
}

int ip_ls_set_bases(struct ip_ls *l, uint64_t fs, uint64_t gs) {
    struct user_regs_struct u;
    if (ptrace(PTRACE_GETREGS, l->n_pid, 0, &u)) return ls_fail(l, "read N's registers");
    u.fs_base = fs;
    u.gs_base = gs;
    if (ptrace(PTRACE_SETREGS, l->n_pid, 0, &u)) return ls_fail(l, "set N's registers");
    return ls_get_n(l);
}

int ip_ls_finish(struct ip_ls *l) {
    int status;
    if (l->n_pid > 0) {
        kill(l->n_pid, SIGKILL);
        while (!wait_for(l->n_pid, &status) && WIFSTOPPED(status)) continue;
        l->n_pid = 0;
    }
    if (l->t_ended == 1) return l->t_status;
    if (l->t_pid > 0) {
        ls_break(l, l->t_pid, 0);
        ptrace(PTRACE_DETACH, l->t_pid, 0, 0);
    }
    return -1;
}
