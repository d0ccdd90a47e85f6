/* ptrace of the guest.  Requests about a tracee that is translated, too, are answered
 * from its tstate (tracer_peer.c); all others go to the kernel.
 */
#include <linux/elf.h>
#include <linux/ptrace.h>

#include "runtime/syscalls/syscalls.h"
#include "runtime/syscalls/syscall.h"
#include "runtime/ptrace/ptrace.h"

#define WALL              0x40000000 /* __WALL */
#define MAX_TRACEES       1024u
#define PEEKUSER          3
#define POKEUSER          6
#define GETREGS           12
#define SETREGS           13
#define ARCH_PRCTL        30
#define SYSEMU            31
#define SYSEMU_SINGLESTEP 32
#define SINGLEBLOCK       33
#define GETSIGMASK        0x420a
#define SETSIGMASK        0x420b
#define GET_SYSCALL_INFO  0x420e
#define SET_SYSCALL_INFO  0x4212 /* Linux 6.16 */
#define SYSCALL_MARK      0x80
#define AUDIT_X86_64      0xc000003eu
#define AUDIT_I386        0x40000003u
#define ARCH_SET_GS       0x1001
#define ARCH_SET_FS       0x1002
#define ARCH_GET_FS       0x1003
#define ARCH_GET_GS       0x1004

static struct tracee tracees[MAX_TRACEES];
static u32 n_tracees;
static rt_lock_t lock; /* those of two processes: one may be a child on the memory of the other */
static bool may_write; /* to tracees, by other means than ptrace */

/* ---- the table ------------------------------------------------------------------------ */

struct tracee *tracer_by_index(u32 i) {
    static struct tracee none;
    if (i >= __atomic_load_n(&n_tracees, __ATOMIC_ACQUIRE)) return NULL;
    return tracees[i].process == (u32)sys0(__NR_getpid) ? &tracees[i] : &none;
}

static struct tracee *look_up(u32 tid, u32 process) {
    for (u32 i = 0; i < __atomic_load_n(&n_tracees, __ATOMIC_ACQUIRE); i++)
        if (tracees[i].tid == tid && tracees[i].process == process) return &tracees[i];
    return NULL;
}

/* Without the lock unless it adds: a handler may have interrupted whoever looks. */
struct tracee *tracer_find(u32 tid, bool add) {
    if (!add && !n_tracees) return NULL;
    u32 process = (u32)sys0(__NR_getpid), at = 0;
    struct tracee *found = look_up(tid, process);
    if (found || !add) return found;
    rt_lock(&lock);
    while (at < n_tracees && tracees[at].tid) at++;
    if (at < MAX_TRACEES) {
        found = &tracees[at];
        *found = (struct tracee){.tracer = (u32)sys0(__NR_gettid), .process = process};
        found->tid = tid;
        if (at == n_tracees) __atomic_store_n(&n_tracees, at + 1, __ATOMIC_RELEASE);
    }
    rt_unlock(&lock);
    return found;
}

/* A fork's child traces nobody. */
void tracer_after_fork(void) {
    n_tracees = 0;
    lock = (rt_lock_t){0};
}

void tracer_forget(u32 tid) {
    struct tracee *c = tracer_find(tid, false);
    if (c) c->tid = 0;
}

void rt_may_write_others(u32 pid) {
    if (!pid || tracer_find(pid, false)) may_write = true;
}

/* ---- requests about a stopped one -------------------------------------------------------- */

static long put(struct tstate *ts, u64 to, const void *from, u64 n) {
    (void)ts;
    return rt_copy_to(to, from, n) == 0 ? 0 : -EFAULT;
}

static long regset(struct peer *p, struct tstate *ts, u64 at, bool set) {
    struct user_regs r;
    u64 iov[2];
    if (rt_copy_from(iov, at, sizeof iov) != 0) return -EFAULT;
    if (iov[1] % 8) return -EINVAL;
    u64 n = iov[1] < sizeof r ? iov[1] : sizeof r;
    peer_get_regs(p, &r);
    long e = set ? (rt_copy_from(&r, iov[0], n) == 0 ? peer_set_regs(p, &r) : -EFAULT) : put(ts, iov[0], &r, n);
    return e ? e : put(ts, at + 8, &n, sizeof n);
}

static long whole_regs(struct peer *p, struct tstate *ts, u64 at, bool set) {
    struct user_regs r;
    if (set) return rt_copy_from(&r, at, sizeof r) == 0 ? peer_set_regs(p, &r) : -EFAULT;
    peer_get_regs(p, &r);
    return put(ts, at, &r, sizeof r);
}

static long user_word(struct peer *p, struct tstate *ts, u64 at, u64 data, bool set) {
    struct user_regs r;
    peer_get_regs(p, &r);
    u64 *word = (u64 *)(void *)((u8 *)&r + at);
    if (!set) return put(ts, data, word, sizeof *word);
    *word = data;
    return peer_set_regs(p, &r);
}

static long base_of(struct peer *p, struct tstate *ts, u64 addr, u64 code) {
    struct user_regs r;
    peer_get_regs(p, &r);
    switch (code) {
    case ARCH_GET_FS: return put(ts, addr, &r.fs_base, 8);
    case ARCH_GET_GS: return put(ts, addr, &r.gs_base, 8);
    case ARCH_SET_FS: r.fs_base = addr, r.fs = 0; break;
    case ARCH_SET_GS: r.gs_base = addr, r.gs = 0; break;
    default: return -EINVAL;
    }
    return peer_set_regs(p, &r) == 0 ? 0 : -EPERM;
}

struct call_info { /* struct ptrace_syscall_info */
    u8 op, pad;
    u16 flags;
    u32 arch;
    u64 ip, sp;
    union {
        struct {
            u64 nr, args[6];
            u32 data; /* of a filter */
        } entry;
        struct {
            i64 value;
            u8 is_error;
        } exit;
    };
};

static u8 call_op(const struct peer *p) {
    bool marked = p->t.status & SYSCALL_MARK; /* the kernel tells by it */
    if (p->kind == RT_STOP_SECCOMP) return PTRACE_SYSCALL_INFO_SECCOMP;
    if (p->kind == RT_STOP_ENTRY && marked) return PTRACE_SYSCALL_INFO_ENTRY;
    return p->kind == RT_STOP_EXIT && marked ? PTRACE_SYSCALL_INFO_EXIT : PTRACE_SYSCALL_INFO_NONE;
}

/* Where the call has its arguments; of i386's the lower halves. */
static void call_args(const struct peer *p, struct user_regs *r, u64 *at[6]) {
    u64 *const args64[6] = {&r->di, &r->si, &r->dx, &r->r10, &r->r8, &r->r9};
    u64 *const args32[6] = {&r->bx, &r->cx, &r->dx, &r->si, &r->di, &r->bp};
    memcpy(at, p->t.i386 ? args32 : args64, sizeof args64);
}

static long call_info(struct peer *p, struct tstate *ts, u64 size, u64 to) {
    struct user_regs r;
    struct call_info c = {.op = call_op(p), .arch = p->t.i386 && p->t.orig_rax != ~0ull ? AUDIT_I386 : AUDIT_X86_64};
    u64 n = offsetof(struct call_info, entry);
    peer_get_regs(p, &r);
    c.ip = r.ip, c.sp = r.sp;
    if (c.op == PTRACE_SYSCALL_INFO_ENTRY || c.op == PTRACE_SYSCALL_INFO_SECCOMP) {
        u64 *args[6];
        call_args(p, &r, args);
        c.entry.data = (u32)p->t.message;
        c.entry.nr = (u64)(i64)(int)r.orig_ax;
        for (u32 i = 0; i < 6; i++) c.entry.args[i] = p->t.i386 ? (u32)*args[i] : *args[i];
        n = offsetof(struct call_info, entry.data) + (c.op == PTRACE_SYSCALL_INFO_ENTRY ? 0 : sizeof c.entry.data);
    } else if (c.op == PTRACE_SYSCALL_INFO_EXIT) {
        c.exit.value = (i64)r.ax;
        c.exit.is_error = (i64)r.ax < 0 && (i64)r.ax >= -4095;
        n = offsetof(struct call_info, exit.is_error) + 1;
    }
    long e = put(ts, to, &c, size < n ? size : n);
    return e ? e : (long)n;
}

/* Another number and arguments where a call begins, another result where it ends. */
static long set_call_info(struct peer *p, u64 size, u64 from) {
    struct user_regs r;
    struct call_info c;
    if (peer_ptrace(SET_SYSCALL_INFO, p->tid, 0, NULL) == -EIO) return -EIO; /* an older kernel */
    if (size < sizeof c) return -EINVAL;
    if (rt_copy_from(&c, from, sizeof c) != 0) return -EFAULT;
    if (c.pad || c.flags || c.op != call_op(p) || c.op == PTRACE_SYSCALL_INFO_NONE) return -EINVAL;
    peer_get_regs(p, &r);
    if (c.op == PTRACE_SYSCALL_INFO_EXIT) {
        r.ax = (u64)c.exit.value;
        return peer_set_regs(p, &r);
    }
    if ((i64)c.entry.nr != (int)c.entry.nr) return -ERANGE;
    for (u32 i = 0; i < 6; i++)
        if (p->t.i386 && c.entry.args[i] != (u32)c.entry.args[i]) return -ERANGE;
    r.orig_ax = c.entry.nr;
    u64 *args[6];
    call_args(p, &r, args);
    if ((int)c.entry.nr != -1)
        for (u32 i = 0; i < 6; i++) *args[i] = c.entry.args[i];
    return peer_set_regs(p, &r);
}

static long signal_info(struct peer *p, struct tstate *ts, u64 at, bool set) {
    struct sig_info info = p->t.info;
    if (p->kind == RT_STOP_TRAP && (p->t.trap_status & 0xff) == SIG_TRAP) {
        u32 pid = 0;
        peer_read(p->tid, p->ts + offsetof(struct tstate, runtime_area) + offsetof(struct rt_thread, tid), &pid, 4);
        info = (struct sig_info){.signo = SIG_TRAP, .code = (int)p->t.trap_status};
        info.rt.pid = (int)pid;
        info.rt.uid = p->t.uid;
    } else if (p->kind == RT_STOP_TRAP && !(p->t.trap_status >> 8)) {
        return -EINVAL; /* a stop of the process, of a tracee that was not seized */
    } else if (p->kind == RT_STOP_TRAP) {
        info = (struct sig_info){.signo = (int)(p->t.trap_status & 0xff), .code = (int)p->t.trap_status};
    }
    if (!set) return put(ts, at, &info, sizeof info);
    if (rt_copy_from(&info, at, sizeof info) != 0) return -EFAULT;
    u64 to = p->ts + offsetof(struct tstate, runtime_area) + RT_TRACE_OFFSET + offsetof(struct rt_trace, info);
    return peer_write(p->tid, to, &info, sizeof info);
}

static long mask(struct peer *p, struct tstate *ts, u64 size, u64 at, bool set) {
    u64 value, where = p->ts + offsetof(struct tstate, runtime_area) + offsetof(struct rt_thread, sigmask);
    if (size != sizeof value) return -EINVAL;
    if (!set) return peer_read(p->tid, where, &value, sizeof value) == 0 ? put(ts, at, &value, sizeof value) : -EIO;
    if (rt_copy_from(&value, at, sizeof value) != 0) return -EFAULT;
    value &= ~SIG_UNBLOCKABLE;
    return peer_write(p->tid, where, &value, sizeof value);
}

/* The tracer has written there: translations of it are to be dropped before it goes on. */
static void wrote(struct peer *p, u64 lo, u64 hi) {
    u64 both[2] = {lo, hi};
    if (p->t.dirty[1] > p->t.dirty[0]) {
        both[0] = p->t.dirty[0] < lo ? p->t.dirty[0] : lo;
        both[1] = p->t.dirty[1] > hi ? p->t.dirty[1] : hi;
    }
    memcpy(p->t.dirty, both, sizeof both);
    u64 to = p->ts + offsetof(struct tstate, runtime_area) + RT_TRACE_OFFSET + offsetof(struct rt_trace, dirty);
    peer_write(p->tid, to, both, sizeof both);
}

static long resume(struct peer *p, long request, u64 sig, u32 go) {
    bool detach = request == PTRACE_DETACH;
    if (sig > SIG_MAX) return -EIO;
    if (may_write) wrote(p, 0, rt_client_end());
    peer_put(p, &p->t.go, go);
    peer_put(p, &p->t.inject, (u32)sig);
    if (detach) peer_put(p, &p->t.on, 0);
    if (p->waits) peer_put(p, &p->t.ack, p->t.seq);
    if (detach) tracer_forget(p->tid);
    return peer_ptrace(detach ? PTRACE_DETACH : PTRACE_CONT, p->tid, 0, NULL);
}

static long to_kernel(struct tstate *ts) {
    u64 args[6];
    rt_syscall_args(ts, args);
    return sig_wait_here(ts, __NR_ptrace, args);
}

/* A thread that has left the stop of its process for a look at it goes back there. */
static long listen(struct peer *p, struct tstate *ts) {
    int status;
    long r;
    if (!p->waits) return to_kernel(ts);
    if (p->kind != RT_STOP_TRAP || p->t.trap_status >> 8 != PTRACE_EVENT_STOP) return -EIO;
    peer_ptrace(PTRACE_INTERRUPT, p->tid, 0, NULL);
    peer_put(p, &p->t.go, RT_GO);
    peer_put(p, &p->t.inject, 0);
    peer_put(p, &p->t.ack, p->t.seq);
    peer_ptrace(PTRACE_CONT, p->tid, 0, NULL);
    while ((r = sys4(__NR_wait4, (long)p->tid, (long)&status, WALL, 0)) == -EINTR);
    return r < 0 ? r : to_kernel(ts);
}

static long options(struct peer *p, struct tstate *ts, u64 value) {
    long r = to_kernel(ts);
    struct tracee *c = tracer_find(p->tid, true);
    if (r != 0) return r;
    if (c) c->options = (u32)value;
    peer_put(p, &p->t.options, (u32)value);
    return 0;
}

/* Does not depend on where the tracee is. */
static bool anywhere(long what) {
    switch (what) {
    case PTRACE_PEEKTEXT:
    case PTRACE_PEEKDATA:
    case PTRACE_CONT:
    case PTRACE_DETACH:
    case PTRACE_SYSCALL:
    case PTRACE_LISTEN:
    case PTRACE_SETOPTIONS:
    case PTRACE_GETEVENTMSG:
    case PTRACE_GETSIGINFO:
    case PTRACE_SETSIGINFO: return true;
    default: return false;
    }
}

static long request(struct peer *p, struct tstate *ts, long what, u64 addr, u64 data) {
    switch (what) {
    case PEEKUSER:
    case POKEUSER:
        return (addr & 7) || addr >= sizeof(struct user_regs) ? to_kernel(ts)
                                                              : user_word(p, ts, addr, data, what == POKEUSER);
    case PTRACE_POKETEXT:
    case PTRACE_POKEDATA: {
        long r = to_kernel(ts);
        if (r == 0) wrote(p, addr, addr + 8);
        return r;
    }
    case PTRACE_CONT: return resume(p, what, data, RT_GO);
    case PTRACE_DETACH: return resume(p, what, data, RT_GO);
    case PTRACE_SYSCALL: return resume(p, what, data, RT_GO_SYSCALL);
    case PTRACE_SINGLESTEP: return resume(p, what, data, RT_GO_STEP);
    case SYSEMU: return resume(p, what, data, RT_GO_EMULATE);
    case SYSEMU_SINGLESTEP:
    case SINGLEBLOCK: return -EIO;
    case PTRACE_LISTEN: return listen(p, ts);
    case GETREGS:
    case SETREGS: return whole_regs(p, ts, data, what == SETREGS);
    case PTRACE_GETREGSET:
    case PTRACE_SETREGSET: return addr == NT_PRSTATUS ? regset(p, ts, data, what == PTRACE_SETREGSET) : to_kernel(ts);
    case ARCH_PRCTL: return base_of(p, ts, addr, data);
    case PTRACE_SETOPTIONS: return options(p, ts, data);
    case PTRACE_GETEVENTMSG:
        if (p->kind != RT_STOP_ENTRY && p->kind != RT_STOP_EXIT && p->kind != RT_STOP_SECCOMP) return to_kernel(ts);
        return put(ts, data, &p->t.message, sizeof p->t.message);
    case PTRACE_GETSIGINFO:
    case PTRACE_SETSIGINFO: return p->waits ? signal_info(p, ts, data, what == PTRACE_SETSIGINFO) : to_kernel(ts);
    case GETSIGMASK:
    case SETSIGMASK: return mask(p, ts, addr, data, what == SETSIGMASK);
    case GET_SYSCALL_INFO: return call_info(p, ts, addr, data);
    case SET_SYSCALL_INFO: return set_call_info(p, addr, data);
    default: return to_kernel(ts);
    }
}

/* ---- the call ------------------------------------------------------------------------------ */

static long attach(struct tstate *ts, u32 tid, u64 flags) {
    long r = to_kernel(ts);
    if (r != 0) return r;
    struct tracee *c = tracer_find(tid, true);
    if (c) c->options = (u32)flags, c->ts = 0;
    return 0;
}

static long make_request(struct tstate *ts) {
    long what = (long)ts->gpr[IP_RDI];
    u32 tid = (u32)ts->gpr[IP_RSI];
    u64 addr = ts->gpr[IP_RDX], data = ts->gpr[IP_R10];
    struct peer p;
    long r;
    switch (what) {
    case PTRACE_TRACEME:
        r = to_kernel(ts);
        if (r == 0) traced_by_parent(ts);
        return r;
    case PTRACE_SEIZE: return attach(ts, tid, data);
    case PTRACE_ATTACH:
        r = attach(ts, tid, 0);
        if (r == 0) /* it may be a thread on our memory, stopped with a lock of the runtime's */
            tracer_settle(ts, tid);
        return r;
    case PTRACE_INTERRUPT:
        r = to_kernel(ts);
        if (r == 0 && tracer_find(tid, false)) tracer_settle(ts, tid);
        return r;
    case PTRACE_KILL: return to_kernel(ts);
    default: break;
    }
    if (peer_look(tid, &p) != 0 || !p.ours) return to_kernel(ts);
    if (!p.kind) {
        /* Stopped, but not yet for the guest to see. */
        tracer_settle(ts, tid);
        if (peer_look(tid, &p) != 0 || !p.ours) return to_kernel(ts);
        if (!p.kind) return -ESRCH;
    }
    if (p.kind == RT_STOP_ANYWHERE && !anywhere(what) && (r = tracer_bring(ts, &p)) != 0) return r;
    return request(&p, ts, what, addr, data);
}

long rt_sys_ptrace(struct tstate *ts) {
    tracer_works(ts, true);
    long r = make_request(ts);
    tracer_works(ts, false);
    return r;
}
