/* What the waits of a tracer see.  The kernel reports each stop of a tracee that is
 * translated, too; those for the runtime's own signals, and those where the guest's state
 * is not whole, are answered here: the tracee goes on, to stop again where the guest is
 * (traced.c), or for good reasons not at all.
 */
#include <linux/ptrace.h>
#include <linux/wait.h>

#include "runtime/syscalls/syscalls.h"
#include "runtime/syscalls/syscall.h"
#include "runtime/ptrace/ptrace.h"

#define STOPPED      0x7f
#define CLD_TRAPPED_ 4
#define CLD_STOPPED_ 5
#define SETSIGMASK   0x420b
#define PATIENCE     100000u

static long go_on(const struct peer *p, int sig) { return peer_ptrace(PTRACE_CONT, p->tid, 0, (void *)(long)sig); }

static u64 thread_field(const struct peer *p, u64 offset) {
    return p->ts + offsetof(struct tstate, runtime_area) + offset;
}

/* A signal that could wait: to be delivered at the next boundary, as sig_host_handler records it. */
static void record_for(struct peer *p, const struct sig_info *info) {
    u32 sig = (u32)info->signo;
    u64 mask = SIG_BLOCK_ALL;
    if (sig == SIG_STOP) {
        p->t.stop_info = *info;
        peer_write(p->tid, thread_field(p, RT_TRACE_OFFSET + offsetof(struct rt_trace, stop_info)), info, sizeof *info);
        peer_put(p, &p->t.wants, p->t.wants | RT_WANT_STOP);
        return;
    }
    peer_write(p->tid, thread_field(p, offsetof(struct rt_thread, pending_info)), info, sizeof *info);
    peer_write(p->tid, thread_field(p, offsetof(struct rt_thread, pending_sig)), &sig, sizeof sig);
    peer_ptrace(SETSIGMASK, p->tid, 8, &mask); /* nothing comes until it is delivered */
}

static bool is_own(const struct sig_info *info) {
    return info->signo == SIG_TRAP &&
           (info->code == RT_KICK_CODE || info->code == SIC_IO || info->code == RT_STOP_CODE);
}

/* A stop at a system call of the runtime's, on the way to an exec, or to the guest's call with signals pending. */
static bool at_call(struct peer *p, const struct sig_info *info) {
    if (info->signo != SIG_TRAP || (info->code & ~0x80) != SIG_TRAP) return false;
    if (p->t.enters && p->host.ip == (u64)sig_kernel_entry(p->host.ip)->insn + 2 && (i64)p->host.ax == -ENOSYS) {
        u64 mask = 0;
        peer_read(p->tid, thread_field(p, offsetof(struct rt_thread, sigmask)), &mask, sizeof mask);
        mask &= ~SIG_SYNC;
        peer_put(p, &p->t.enters, 0);
        peer_put(p, &p->t.helped, 0);
        peer_ptrace(SETSIGMASK, p->tid, 8, &mask);
    }
    peer_ptrace(p->t.helped ? PTRACE_SYSCALL : PTRACE_CONT, p->tid, 0, NULL);
    return true;
}

/* What becomes of a stop. */
enum tracer_view { TRACER_SHOWN, TRACER_PASSED, TRACER_BROUGHT /* to be shown soon */ };

static enum tracer_view at_signal(struct peer *p, const struct sig_info *info) {
    int sig = info->signo;
    if (at_call(p, info)) return TRACER_PASSED;
    bool faults = (SIG_BIT(sig) & SIG_SYNC) != 0;
    /* Its last moments, or the stop of its process, which the guest's tracer has been shown already. */
    bool known = p->t.dying || (p->t.kind == RT_STOP_GROUP && (u32)sig == p->t.status);
    if (known || is_own(info) || (faults && info->code > 0)) {
        if (!known && !is_own(info)) peer_adopt(p);
        go_on(p, sig);
        return TRACER_PASSED;
    }
    peer_adopt(p);
    if (faults) { /* recorded by its handler */
        peer_leave_call(p);
        go_on(p, sig);
        return TRACER_PASSED;
    }
    record_for(p, info);
    peer_bring(p, info);
    return TRACER_BROUGHT;
}

/* status is that of a stop that the kernel reports: make it the guest's, or let the
 * tracee go on, if it is none of the guest's business. */
static enum tracer_view tracer_shows(u32 tid, u32 *status) {
    struct peer p;
    struct sig_info info;
    u32 event = *status >> 16;
    if (peer_look(tid, &p) != 0 || !p.ours) return TRACER_SHOWN;
    if (p.waits && p.kind == RT_STOP_HELP) {
        peer_put(&p, &p.t.ack, p.t.seq);
        peer_ptrace(PTRACE_SYSCALL, tid, 0, NULL);
        return TRACER_PASSED;
    }
    if (p.waits) {
        *status = p.t.status << 8 | STOPPED;
        return TRACER_SHOWN;
    }
    if (p.kind == RT_STOP_GROUP || p.kind == RT_STOP_ANYWHERE || (event && event != PTRACE_EVENT_STOP)) {
        peer_adopt(&p);
        return TRACER_SHOWN;
    }
    if (event == 0 && peer_ptrace(PTRACE_GETSIGINFO, tid, 0, &info) == 0) return at_signal(&p, &info);
    /* PTRACE_INTERRUPT, or a new task's first stop. */
    peer_adopt(&p);
    if (!(p.t.wants & RT_WANT_TRAP)) /* the first of two */
        peer_put(&p, &p.t.trap_status, *status >> 8);
    peer_put(&p, &p.t.wants, p.t.wants | RT_WANT_TRAP);
    peer_bring(&p, NULL);
    return TRACER_BROUGHT;
}

/* ---- waiting for a stop ------------------------------------------------------------------- */

struct child_info { /* siginfo of SIGCHLD */
    int signo, error, code, pad;
    int pid;
    u32 uid;
    int status, pad2;
    u8 rest[96];
};
_Static_assert(sizeof(struct child_info) == 128, "siginfo_t");

/* Is the task stopped or gone, as wait would tell?  0: no. */
static long waitable(u32 tid, struct child_info *info) {
    memset(info, 0, sizeof *info);
    long r = sys5(__NR_waitid, P_PID, (long)tid, (long)info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL, 0);
    return r < 0 ? r : info->pid != 0;
}

static bool is_stop(const struct child_info *info) { return info->code == CLD_TRAPPED_ || info->code == CLD_STOPPED_; }

/* The others may have to go on for this one to get there. */
static void serve_all(u32 but) {
    u32 me = (u32)sys0(__NR_gettid);
    struct tracee *c;
    for (u32 i = 0; (c = tracer_by_index(i)) != NULL; i++) {
        struct child_info info;
        u32 tid = c->tid;
        if (tid && tid != but && c->tracer == me && waitable(tid, &info) > 0 && is_stop(&info)) {
            u32 status = (u32)info.status << 8 | STOPPED;
            tracer_shows(tid, &status);
        }
    }
}

void tracer_settle(struct tstate *ts, u32 tid) {
    for (u32 n = 0; n < PATIENCE && !rt_th(ts)->pending_sig; n++) {
        struct child_info info;
        struct peer p;
        long r = waitable(tid, &info);
        if (r < 0 || (r > 0 && !is_stop(&info))) return;
        if (r > 0) {
            u32 status = (u32)info.status << 8 | STOPPED;
            if (tracer_shows(tid, &status) == TRACER_SHOWN) return;
        } else if (peer_look(tid, &p) == 0 && (!p.ours || p.kind)) {
            return; /* somebody has been told already */
        }
        if (n < 100) {
            sys0(__NR_sched_yield);
        } else {
            i64 pause[2] = {0, 100000};
            if (n % 100 == 0) serve_all(tid);
            sys2(__NR_nanosleep, (long)pause, 0);
        }
    }
}

void tracer_works(struct tstate *ts, bool begins) {
    struct rt_thread *th = rt_th(ts);
    if (__atomic_exchange_n(&th->tracing, begins, __ATOMIC_SEQ_CST) == 2 && !begins)
        sys4(__NR_rt_tgsigqueueinfo, th->pid, th->tid, SIG_CHLD, (long)th->heard);
}

bool tracer_hides(struct tstate *ts, struct sig_info *info) {
    struct rt_thread *th = rt_th(ts);
    struct child_info child;
    struct peer p;
    memcpy(&child, info, sizeof child);
    if (info->signo != SIG_CHLD || !is_stop(&child)) return false;
    if (th->tracing) {
        memcpy(th->heard, info, sizeof *info);
        th->tracing = 2;
        return true;
    }
    struct tracee *c = tracer_find((u32)child.pid, false);
    if (!c && peer_look((u32)child.pid, &p) == 0 && p.ours)
        c = tracer_find((u32)child.pid, true); /* a child that asked to be traced */
    if (!c) return false;
    if (c->tracer != th->tid) { /* the only one that can look */
        return sys4(__NR_rt_tgsigqueueinfo, th->pid, c->tracer, SIG_CHLD, (long)info) == 0;
    }
    struct child_info now;
    u32 status = 0;
    bool hidden = false;
    th->tracing = 1;
    if (waitable(c->tid, &now) > 0 && is_stop(&now)) {
        status = (u32)now.status << 8 | STOPPED;
        hidden = tracer_shows(c->tid, &status) != TRACER_SHOWN;
    } else if (peer_look(c->tid, &p) == 0 && p.ours) {
        hidden = !p.kind || p.kind == RT_STOP_HELP; /* a wait has taken it, and will go on */
        status = (p.waits ? p.t.status : (u32)child.status) << 8;
    }
    tracer_works(ts, false);
    if (!hidden && status) {
        child.status = (int)(status >> 8 & 0x7f);
        memcpy(info, &child, sizeof child);
    }
    return hidden;
}

long tracer_bring(struct tstate *ts, struct peer *p) {
    struct sig_info info = {0};
    int status;
    bool seized = peer_ptrace(PTRACE_GETSIGINFO, p->tid, 0, &info) == 0;
    peer_put(p, &p->t.trap_status, seized ? (u32)info.code : SIG_STOP);
    peer_put(p, &p->t.wants, p->t.wants | RT_WANT_TRAP);
    peer_bring(p, NULL);
    tracer_settle(ts, p->tid);
    sys4(__NR_wait4, (long)p->tid, (long)&status, WNOHANG | __WALL, 0); /* the guest knows already */
    return peer_look(p->tid, p);
}

/* ---- system calls ------------------------------------------------------------------------- */

/* A stop that wait has taken.  true: the guest's. */
static bool shown(struct tstate *ts, u32 tid, u32 *status, bool no_hang) {
    switch (tracer_shows(tid, status)) {
    case TRACER_SHOWN: return true;
    case TRACER_BROUGHT:
        if (no_hang) /* natively it is stopped */
            tracer_settle(ts, tid);
        return false;
    default: return false;
    }
}

/* A wait for certain children, while others may need us to go on. */
static bool serves_others(u64 options, u32 tid) {
    struct tracee *c;
    if (options & WNOHANG) return false;
    for (u32 i = 0; (c = tracer_by_index(i)) != NULL; i++)
        if (c->tid && c->tid != tid && c->ts) return true;
    return false;
}

/* args is a call's that waits for tid; the same with WNOHANG until something has come. */
static long serve(struct tstate *ts, long nr, const u64 args[6], u32 options, u32 tid, const int *came) {
    u64 now[6];
    memcpy(now, args, sizeof now);
    now[options] |= WNOHANG;
    for (u64 n = 0;; n++) {
        long r = sig_wait_here(ts, nr, now);
        if (r == RT_INTERRUPTED && n) return traced_break(ts);
        if (r < 0 || (came ? *came : r)) return r;
        tracer_works(ts, true);
        serve_all(tid);
        tracer_works(ts, false);
        i64 pause[2] = {0, n < 50 ? 20000 : 1000000};
        sys2(__NR_nanosleep, (long)pause, 0);
    }
}

long rt_sys_wait4(struct tstate *ts) {
    u64 args[6], to;
    u32 status;
    rt_syscall_args(ts, args);
    to = args[1];
    args[1] = (u64)&status;
    for (;;) {
        status = 0;
        bool others = (int)args[0] != -1 && serves_others(args[2], (u32)args[0]);
        long r = others ? serve(ts, __NR_wait4, args, 2, (u32)args[0], NULL) : sig_wait_here(ts, __NR_wait4, args);
        if (r <= 0) return r;
        if ((status & 0xff) == STOPPED) {
            tracer_works(ts, true);
            bool seen = shown(ts, (u32)r, &status, args[2] & WNOHANG);
            tracer_works(ts, false);
            if (!seen) continue;
        } else if (status != 0xffff) { /* continued */
            tracer_forget((u32)r);
        }
        return to && rt_copy_to(to, &status, sizeof status) != 0 ? -EFAULT : r;
    }
}

/* What the kernel writes: a child's fields, neither what lies between them nor behind them. */
static long give_info(u64 to, const struct child_info *info) {
    u64 head = offsetof(struct child_info, pad), from = offsetof(struct child_info, pid);
    if (!to) return 0;
    long r = rt_copy_to(to, info, head);
    return r != 0 ? r : rt_copy_to(to + from, &info->pid, offsetof(struct child_info, pad2) - from);
}

long rt_sys_waitid(struct tstate *ts) {
    u64 args[6], to;
    struct child_info info;
    rt_syscall_args(ts, args);
    to = args[2];
    args[2] = (u64)&info;
    for (;;) {
        memset(&info, 0, sizeof info);
        bool others = args[0] != P_ALL && serves_others(args[3], (u32)args[1]);
        long r = others ? serve(ts, __NR_waitid, args, 3, (u32)args[1], &info.pid)
                        : sig_wait_here(ts, __NR_waitid, args);
        if (r < -4095) return r;                                   /* not the kernel's */
        if (r < 0) return give_info(to, &info) != 0 ? -EFAULT : r; /* zeroes then */
        if (info.pid && is_stop(&info)) {
            u32 status = (u32)info.status << 8 | STOPPED;
            tracer_works(ts, true);
            bool seen = shown(ts, (u32)info.pid, &status, args[3] & WNOHANG);
            tracer_works(ts, false);
            if (!seen) continue;
            info.status = (int)(status >> 8);
        } else if (info.pid && !(args[3] & WNOWAIT) && info.code != 6 /* CLD_CONTINUED */) {
            tracer_forget((u32)info.pid);
        }
        return give_info(to, &info) != 0 ? -EFAULT : r;
    }
}
