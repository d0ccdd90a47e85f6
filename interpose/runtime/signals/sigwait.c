/* Calls that sleep under a mask of their own, and what blocked signals of
 * instructions (SIG_SYNC) need around any call.
 *
 * While guest code or the runtime runs, the kernel must not block SIG_SYNC:
 * faults come that way.  In a system call none can come (the kernel answers
 * EFAULT), so there the kernel may hold the guest's true mask, and what is sent
 * meanwhile waits in its queues, where sigtimedwait, signalfd and the masks of
 * pselect find it.  Only SIGTRAP stays open, unless the guest has one pending: it
 * tells that the supervisor has died.
 *
 * A call's own mask stays in force until the frames of everything that it let
 * through are built, each saving the mask of the one before; the first saves
 * the mask from before the call: select(2), "Usage of pselect"; sigsuspend(2).
 */
#include "runtime/processes/processes.h"
#include "runtime/signals/signals.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/signals/sig.h"
#include "runtime/syscalls/syscall.h"
#include "runtime/ptrace/ptrace.h"

bool sig_requeue(struct tstate *ts, const struct sig_info *info) {
    u32 pid = rt_th(ts)->pid, tid = rt_th(ts)->tid;
    bool to_process = info->code != SIC_TKILL && thread_is_last(ts);
    return (to_process ? sys3(__NR_rt_sigqueueinfo, pid, info->signo, (long)info)
                       : sys4(__NR_rt_tgsigqueueinfo, pid, tid, info->signo, (long)info)) == 0;
}

static void requeue_kept(struct tstate *ts, u64 which) {
    struct sig_priv *p = sig_priv(ts);
    for (; which; which &= which - 1) {
        int sig = __builtin_ctzll(which) + 1;
        if (sig_requeue(ts, &p->vinfo[sig_sync_index(sig)]))
            __atomic_fetch_and(&p->vpend, ~SIG_BIT(sig), __ATOMIC_RELAXED);
    }
}

/* The part of a mask that the kernel may have during a call. */
static u64 during_call(u64 mask, u64 held) { return held & SIG_BIT(SIG_TRAP) ? mask : mask & ~SIG_BIT(SIG_TRAP); }

/* *held: the signals that are pending in the kernel now and were kept aside.  Until the kernel has the mask more may
 * come aside; of those only SIGTRAP decides what the mask is. */
static long hold(struct tstate *ts, u64 *held) {
    struct rt_thread *th = rt_th(ts);
    u64 mask, args[6] = {2 /* SIG_SETMASK */, (u64)&mask, 0, 8, 0, 0};
    long r;
    do {
        *held = sig_priv(ts)->vpend & th->sigmask;
        mask = during_call(th->sigmask, *held);
        if (!(mask & SIG_SYNC)) return 0;
        rt_delay(IP_AT_HOLD);
        r = rt_kernel(th, __NR_rt_sigprocmask, args);
        if (r != 0) return r;
    } while (during_call(th->sigmask, sig_priv(ts)->vpend) != mask);
    *held = sig_priv(ts)->vpend & th->sigmask & mask;
    requeue_kept(ts, *held);
    return 0;
}

void sig_give_back(struct tstate *ts) { requeue_kept(ts, sig_priv(ts)->vpend & rt_th(ts)->sigmask); }

/* Around a call that may sleep or look at pending signals: the kernel's mask is
 * really the guest's, what was kept aside because it is blocked is pending in the
 * kernel.  0, or RT_INTERRUPTED: deliver first.  Guest memory must not be touched
 * by the runtime until sig_release. */
static long sig_hold(struct tstate *ts) {
    u64 held;
    return hold(ts, &held);
}

static void sig_release(struct tstate *ts) {
    sig_apply_mask(rt_th(ts));
    if (sig_priv(ts)->vpend & ~rt_th(ts)->sigmask) /* came with that */
        rt_th(ts)->pending = 1;
}

/* It will begin again, if nothing but a debugger was to hear of what came. */
static bool is_broken(struct tstate *ts, long r) {
    return r == RT_INTERRUPTED ? rt_debugged() || sig_are_told() : r == -EINTR && rt_th(ts)->debug_broke;
}

/* The call itself. */
static long kernel(struct tstate *ts, long nr, const u64 args[6]) {
    struct rt_thread *th = rt_th(ts);
    u64 own[6], rest[2];
    long r;
    __atomic_store_n(&th->waits_sp, ts->gpr[IP_RSP], __ATOMIC_RELEASE);
    if (!rt_debugged() && !th->debug_wait.length) {
        rt_debug_wait_begins(ts, nr, args);
        r = rt_kernel(th, nr, args);
        if (is_broken(ts, r)) rt_debug_wait_stops(ts, nr, args);
    } else {
        memcpy(own, args, sizeof own);
        rt_debug_times(ts, nr, own, rest);
        r = rt_kernel(th, nr, own);
    }
    __atomic_store_n(&th->waits_sp, 0, __ATOMIC_RELEASE);
    if (r != RT_INTERRUPTED && !is_broken(ts, r)) th->debug_wait.nr = th->debug_wait.length = 0;
    return r;
}

/* args lead the kernel to kernel_mask. */
static long wait_under(struct tstate *ts, long nr, const u64 args[6], u64 mask, u64 *kernel_mask) {
    struct rt_thread *th = rt_th(ts);
    struct sig_priv *p = sig_priv(ts);
    u64 before = th->sigmask, held;
    long r = hold(ts, &held);
    if (r != 0) return r;
    th->sigmask = mask & ~SIG_UNBLOCKABLE;
    *kernel_mask = during_call(th->sigmask, held);
    r = kernel(ts, nr, args);
    /* A tracer has a call broken off in this way. */
    bool broken = r == -EINTR || (r == RT_INTERRUPTED && rt_trace(ts)->restart);
    if (broken && (th->pending_sig || (p->vpend & ~th->sigmask))) {
        p->saved_mask = before;
        p->restore_mask = 1;
        return r; /* the mask is set when the signal has been delivered */
    }
    th->sigmask = before;
    sig_release(ts);
    return r;
}

long sig_wait_here(struct tstate *ts, long nr, const u64 args[6]) {
    bool held = sig_must_hold(ts);
    long r = held ? sig_hold(ts) : 0;
    if (r != 0) return r;
    traced_enter(ts);
    r = kernel(ts, nr, args);
    if (held) sig_release(ts);
    return r;
}

#define END_WAITS 1000 /* of a millisecond: a thread that sleeps uninterruptibly hears nothing */

void sig_await_end(struct tstate *ts) {
    const i64 pause[2] = {0, 1000000};
    for (u32 n = 0; n < END_WAITS && !sig_is_ending(ts) && !rt_th(ts)->pending; n++)
        sys2(__NR_nanosleep, (long)pause, 0);
}

long rt_sys_rt_sigtimedwait(struct tstate *ts) {
    u64 args[6], to;
    struct sig_info info;
    rt_syscall_args(ts, args);
    to = args[1];
    args[1] = (u64)&info;
    for (;;) {
        long r = sig_wait_here(ts, __NR_rt_sigtimedwait, args);
        if (r == SIG_CHLD && tracer_hides(ts, &info)) continue; /* with the whole of its timeout */
        /* Of what was sent to a process only SI_USER says so: timers send to threads, too. */
        bool ends = r > 0 && (sig_would_end(ts, (int)r, rt_th(ts)->tid) ||
                              (info.code == SIC_USER && sig_would_end(ts, (int)r, 0)));
        if (ends) {
            sig_priv(ts)->fault_info = info;
            rt_die_by_signal(ts, (int)r, info.code, info.addr);
        }
        return r > 0 && to && rt_copy_to(to, &info, sizeof info) != 0 ? -EFAULT : r;
    }
}

/* What the kernel says of a timeout, which it reads before the mask; io_pgetevents takes any.  0: good. */
static long timeout_error(long nr, u64 at) {
    u64 time[2]; /* seconds, nanoseconds */
    if (!at) return 0;
    if (rt_copy_from(time, at, sizeof time) != 0) return -EFAULT;
    return nr != __NR_io_pgetevents && ((i64)time[0] < 0 || time[1] >= 1000000000) ? -EINVAL : 0;
}

/* The mask is argument i, its size the next one. */
static long wait_with(struct tstate *ts, long nr, u32 i) {
    u64 args[6], mask, kernel_mask;
    rt_syscall_args(ts, args);
    if (args[i] == 0) return sig_wait_here(ts, nr, args);
    long r = timeout_error(nr, nr == __NR_ppoll ? args[2] : nr == __NR_epoll_pwait2 ? args[3] : 0);
    if (r != 0) return r;
    if (args[i + 1] != sizeof mask) return -EINVAL;
    if (rt_copy_from(&mask, args[i], sizeof mask) != 0) return -EFAULT;
    args[i] = (u64)&kernel_mask;
    return wait_under(ts, nr, args, mask, &kernel_mask);
}

/* Argument 5 points to the mask's address and size. */
static long wait_with_pair(struct tstate *ts, long nr) {
    u64 args[6], pair[2], mask, kernel_mask;
    rt_syscall_args(ts, args);
    if (nr == __NR_pselect6) args[0] = rt_fds_selected(args[0]);
    if (args[5] == 0) return sig_wait_here(ts, nr, args);
    if (rt_copy_from(pair, args[5], sizeof pair) != 0) return -EFAULT;
    if (pair[0] == 0) return sig_wait_here(ts, nr, args);
    long r = timeout_error(nr, args[4]);
    if (r != 0) return r;
    if (pair[1] != sizeof mask) return -EINVAL;
    if (rt_copy_from(&mask, pair[0], sizeof mask) != 0) return -EFAULT;
    pair[0] = (u64)&kernel_mask;
    args[5] = (u64)pair;
    return wait_under(ts, nr, args, mask, &kernel_mask);
}

long rt_sys_ppoll(struct tstate *ts) { return wait_with(ts, __NR_ppoll, 3); }
long rt_sys_epoll_pwait(struct tstate *ts) { return wait_with(ts, __NR_epoll_pwait, 4); }
long rt_sys_epoll_pwait2(struct tstate *ts) { return wait_with(ts, __NR_epoll_pwait2, 4); }
long rt_sys_pselect6(struct tstate *ts) { return wait_with_pair(ts, __NR_pselect6); }
long rt_sys_io_pgetevents(struct tstate *ts) { return wait_with_pair(ts, __NR_io_pgetevents); }

long rt_sys_rt_sigsuspend(struct tstate *ts) {
    u64 args[6], mask, kernel_mask;
    rt_syscall_args(ts, args);
    if (args[1] != sizeof mask) return -EINVAL;
    if (rt_copy_from(&mask, args[0], sizeof mask) != 0) return -EFAULT;
    args[0] = (u64)&kernel_mask;
    return wait_under(ts, __NR_rt_sigsuspend, args, mask, &kernel_mask);
}
