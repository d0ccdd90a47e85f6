/* Relative time-outs of system calls that a debugger breaks off.
 *
 * The thread comes back for the debugger, and the call begins again when it goes on.  The kernel would go on with the
 * rest of the time (its restart_block), so the call is given that.  select, pselect6 and ppoll need nothing: the
 * kernel leaves the rest where the program has put the whole.  When the debugger came while a call was under way, the
 * counter of the CPU says when that had begun: nobody has looked at the clock.
 */
#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/time.h>

#include "runtime/core/core.h"
#include "runtime/debug/debug.h"

#define SECOND    1000000000ull
#define MS        1000000ull
#define LONGEST   (1ull << 62) /* ns */
#define ABSOLUTE  1            /* TIMER_ABSTIME */
#define BOOTTIME_ 7
#define AT_ONCE   (1ull << 30) /* ticks: two threads' first calls may be as far apart */

/* The argument with a relative time-out, or -1; *ms: it is a number of milliseconds, else a struct timespec's address.
 */
static int argument(long nr, const u64 args[6], bool *ms) {
    *ms = false;
    switch (nr) {
    case __NR_poll: *ms = true; return 2;
    case __NR_epoll_wait:
    case __NR_epoll_pwait: *ms = true; return 3;
    case __NR_nanosleep: return 0;
    case __NR_clock_nanosleep: {
        bool counts_time = args[0] <= 1 || args[0] == BOOTTIME_; /* not a processor's */
        return (args[1] & ABSOLUTE) || !counts_time ? -1 : 2;
    }
    case __NR_futex: return (args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT ? 3 : -1;
    case __NR_rt_sigtimedwait: return 2;
    case __NR_semtimedop:
    case __NR_epoll_pwait2: return 3;
    case __NR_io_getevents:
    case __NR_io_pgetevents: return 4;
    default: return -1;
    }
}

static u64 now(void) {
    u64 t[2] = {0, 0};
    sys2(__NR_clock_gettime, CLOCK_MONOTONIC, (long)t);
    return t[0] * SECOND + t[1];
}

static struct {
    u64 ticks, ns;
} first; /* both clocks, when a call with a time-out was first made */

/* a * b / c, for b <= c */
static u64 share(u64 a, u64 b, u64 c) {
    u64 low, high;
    __asm__("mulq %3\n\tdivq %4" : "=&a"(low), "=&d"(high) : "0"(a), "r"(b), "r"(c) : "cc");
    return low;
}

/* In ns; false: there is none, it is over at once, or the kernel will refuse it. */
static bool length(u64 value, bool ms, u64 *ns) {
    u64 t[2];
    if (ms) {
        *ns = (u64)(u32)value * MS;
        return (int)value > 0;
    }
    if (!value || rt_copy_from(t, value, sizeof t) != 0 || t[0] > LONGEST / SECOND || t[1] >= SECOND) return false;
    *ns = t[0] * SECOND + t[1];
    return *ns != 0;
}

void rt_debug_wait_begins(struct tstate *ts, long nr, const u64 args[6]) {
    struct rt_thread *th = rt_th(ts);
    bool ms;
    int at = argument(nr, args, &ms);
    th->debug_wait.nr = 0;
    if (at < 0 || (ms ? (int)args[at] <= 0 : !args[at]) || th->no_tsc) return;
    static bool is_taken;
    if (!__atomic_load_n(&first.ns, __ATOMIC_ACQUIRE) && !__atomic_exchange_n(&is_taken, true, __ATOMIC_ACQ_REL)) {
        first.ticks = __builtin_ia32_rdtsc();
        __atomic_store_n(&first.ns, now(), __ATOMIC_RELEASE);
    }
    u64 ticks = __builtin_ia32_rdtsc();
    th->debug_wait = (struct rt_debug_wait){th->syscall_restart_pc, ts->gpr[IP_RSP], (u64)nr, 0, ticks};
}

void rt_debug_wait_stops(struct tstate *ts, long nr, const u64 args[6]) {
    struct rt_thread *th = rt_th(ts);
    struct rt_debug_wait *w = &th->debug_wait;
    bool ms;
    u64 ns, begin = w->end;
    int at = w->nr == (u64)nr && !w->length ? argument(nr, args, &ms) : -1;
    w->nr = 0;
    if (at < 0 || !length(args[at], ms, &ns)) return;
    u64 t = now(), ticks = th->no_tsc ? 0 : __builtin_ia32_rdtsc();
    /* Another thread's first call came between: its beginning is ours, too. */
    if (begin < first.ticks && first.ticks - begin < AT_ONCE) begin = first.ticks;
    if (!first.ns || begin < first.ticks || ticks <= begin || t < first.ns) return; /* no such counter */
    w->nr = (u64)nr;
    w->length = ns;
    w->end = t - share(t - first.ns, ticks - begin, ticks - first.ticks) + ns;
}

void rt_debug_times(struct tstate *ts, long nr, u64 args[6], u64 rest[2]) {
    struct rt_thread *th = rt_th(ts);
    struct rt_debug_wait *w = &th->debug_wait, was = *w;
    bool ms;
    u64 ns;
    int at = argument(nr, args, &ms);
    w->nr = w->length = 0;
    if (at < 0 || !length(args[at], ms, &ns)) return;
    u64 t = now();
    *w = (struct rt_debug_wait){th->syscall_restart_pc, ts->gpr[IP_RSP], (u64)nr, ns, t + ns};
    bool again = was.nr == w->nr && was.pc == w->pc && was.sp == w->sp && was.length == ns;
    if (!again) return;
    w->end = was.end;
    u64 left = was.end > t ? was.end - t : 0;
    if (ms) {
        args[at] = (left + MS - 1) / MS;
        return;
    }
    rest[0] = left / SECOND, rest[1] = left % SECOND;
    args[at] = (u64)rest;
}
