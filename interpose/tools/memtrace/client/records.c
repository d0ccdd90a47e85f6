/* Records to the raw file (memtrace_abi.h), as they are: buffers of whole threads, and the templates that they name.
 *
 * One file serves all threads of a process, so there is one descriptor to hide.  The lock over a write is the one that
 * keeps the descriptor where it is.  What cannot be written ends the trace, not the program. */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>

#include "abi/inline/ticks.h"
#include "runtime/syscalls/syscalls.h"
#include "tools/memtrace/memtrace_abi.h"
#include "trace/trace.h"

struct iovec {
    const void *base;
    u64 bytes;
};

struct recorder { /* of a state of a thread */
    u32 number;
    u32 window; /* 1 + the one that its records belong to, 0: none yet */
    u64 bytes;
};

static struct recorder recorders[IP_SLOTS + 1]; /* by tid_guest */
static u32 threads;
static u64 templates_saved;
static bool stopped; /* nothing is written any more */

/* Windows: edge is the count at which the present one ends, or the next one begins. */
static u64 counted, edge;
static u32 window;
static bool inside;

static u64 setting(enum ip_mtr_word word) { return rt.chan->tool[word]; }

static bool has_windows(void) { return setting(IP_MTR_AFTER) || setting(IP_MTR_FOR); }

static void begin_process(struct tstate *ts) {
    rt_memset(recorders, 0, sizeof recorders);
    threads = 0;
    recorders[ts->tid_guest].number = ++threads;
    templates_saved = counted = 0;
    stopped = false;
    window = 0;
    inside = false;
}

static void fail(long error) {
    stopped = true;
    rt.chan->tool[IP_MTR_FAILED] = (u64)error;
}

/* A frame whose bytes are in at most three parts. */
static void put(u32 tid, u32 number, const struct iovec *parts, u32 n) {
    struct ip_mtr_frame frame = {tid, number, 0};
    struct iovec all[4] = {{&frame, sizeof frame}};
    for (u32 i = 0; i < n; i++) {
        all[1 + i] = parts[i];
        frame.bytes += parts[i].bytes;
    }
    if (frame.bytes == 0 || stopped) return;
    long r = sys3(__NR_writev, rt.tool_fd, (long)all, 1 + n), wanted = (long)(sizeof frame + frame.bytes);
    if (r != wanted) fail(r < 0 ? -r : ENOSPC);
}

/* Our other part has said what it wants by now. */
static void open_file(void) {
    edge = setting(IP_MTR_AFTER);
    long fd = sys3(__NR_open, (long)rt.chan->tool_path, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
    if (fd < 0) {
        fail(-fd);
        return;
    }
    long high = sys3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, rt.runtime_fd > 16 ? rt.runtime_fd - 8 : 3);
    if (high >= 0) sys1(__NR_close, fd);
    rt.tool_fd = (int)(high >= 0 ? high : fd);
    struct ip_mtr_head head = {IP_MTR_MAGIC, IP_META_BASE + (u64)IP_META_TRACE, rt.pid, 0};
    if (sys3(__NR_write, rt.tool_fd, (long)&head, sizeof head) != sizeof head) fail(ENOSPC);
}

/* All templates that records may name by now. */
static void put_templates(void) {
    u64 used = __atomic_load_n(&rt.meta->trace_used, __ATOMIC_ACQUIRE);
    struct iovec part = {(const void *)(IP_META_BASE + (u64)IP_META_TRACE + templates_saved), used - templates_saved};
    if (used == templates_saved) return;
    put(0, 0, &part, 1);
    templates_saved = used;
}

static void put_records(struct tstate *ts, const u64 *lead, u32 n_lead, const u64 *from, const u64 *to) {
    struct recorder *r = &recorders[ts->tid_guest];
    struct iovec parts[] = {{lead, 8 * n_lead}, {from, (u64)(to - from) * 8}};
    r->bytes += parts[0].bytes + parts[1].bytes;
    if (setting(IP_MTR_ONLY) && setting(IP_MTR_ONLY) != r->number) return;
    if (setting(IP_MTR_MOST) && r->bytes > setting(IP_MTR_MOST)) return;
    put(rt_th(ts)->tid, r->number, parts, 2);
}

/* ---- windows ---- */

/* What a window begins with in a thread: skip instructions of its next run are left out. */
static void put_beginning(struct tstate *ts, u64 skip) {
    u64 lead[] = {2ull << 32 | IP_TR_TIME,    tr_time(), 0,   2ull << 32 | IP_TR_FSBASE, ts->client_fs, ts->client_gs,
                  2ull << 32 | IP_MTR_WINDOW, window,    skip};
    lead[2] = ip_cpu_number();
    recorders[ts->tid_guest].window = window + 1;
    put_records(ts, lead, sizeof lead / 8, lead, lead);
}

/* The edges that lie in the run at rec.  from: where what belongs to the window begins; the new one is returned. */
static const u64 *edges(struct tstate *ts, const u64 *from, const u64 *rec, u64 words, u64 done) {
    while (counted + done > edge) {
        if (!inside) {
            put_beginning(ts, edge - counted);
            inside = true;
            from = rec;
            edge = setting(IP_MTR_FOR) ? edge + setting(IP_MTR_FOR) : ~0ull;
            continue;
        }
        u64 cut[] = {1ull << 32 | IP_MTR_CUT, edge - counted};
        put_records(ts, NULL, 0, from, rec);
        put_records(ts, cut, 2, rec, rec + words);
        inside = false;
        window++;
        edge = setting(IP_MTR_EVERY) ? edge + setting(IP_MTR_EVERY) : ~0ull;
    }
    return from;
}

static void put_windows(struct tstate *ts, const u64 *from, const u64 *to) {
    const u64 *rec = from;
    if (inside && recorders[ts->tid_guest].window != window + 1) put_beginning(ts, 0);
    while (rec < to) {
        u64 head = *rec, done = head >> 32, words = 1 + done;
        if ((u32)head >= IP_TR_EVENTS) {
            words = 1 + ((const struct ip_tr_block *)(u64)(u32)head)->n_words;
            from = edges(ts, from, rec, words, done);
            counted += done;
        }
        rec += words;
    }
    if (inside) put_records(ts, NULL, 0, from, to);
}

void tr_consume(struct tstate *ts, const u64 *from, const u64 *to) {
    if (rt_th(ts)->vfork_child || !rt.chan->tool_path[0]) return;
    rt_hold_descriptors(true);
    if (rt.tool_fd < 0 && !stopped) open_file();
    if (!stopped) {
        put_templates();
        if (has_windows())
            put_windows(ts, from, to);
        else
            put_records(ts, NULL, 0, from, to);
    }
    rt_hold_descriptors(false);
}

/* ---- hooks ---- */

void rt_hook_start(struct tstate *ts) { begin_process(ts); }

void rt_hook_thread_begin(struct tstate *ts) {
    if (!recorders[ts->tid_guest].number && !rt_th(ts)->vfork_child) {
        rt_hold_descriptors(true);
        recorders[ts->tid_guest] = (struct recorder){.number = ++threads};
        rt_hold_descriptors(false);
    }
    tr_thread_begin(ts);
}

void rt_hook_thread_end(struct tstate *ts) {
    tr_thread_end(ts);
    if (!rt_th(ts)->vfork_child) recorders[ts->tid_guest].number = 0;
}

void rt_hook_leaving(struct tstate *ts, bool for_exec) {
    if (for_exec) /* another thread may be in its buffer */
        tr_flush(ts);
    else
        tr_leaving(ts);
    rt.chan->tool[IP_MTR_NO_ROOM] = rt.meta->trace_full;
}

/* The descriptors of a child that shares its maker's table are its maker's. */
static bool shares_files(void) {
    return sys5(__NR_kcmp, sys0(__NR_getpid), sys0(__NR_getppid), 2 /* KCMP_FILES */, 0, 0) == 0;
}

void rt_hook_fork(struct tstate *ts, bool child) {
    if (child) {
        if (rt.tool_fd >= 0 && !shares_files()) sys1(__NR_close, rt.tool_fd);
        rt.tool_fd = -1;
        begin_process(ts);
    }
    tr_fork(ts, child);
}

void rt_hook_fork_lock(enum rt_fork_phase phase, bool lock) {
    if (phase == RT_FORK_INNER) rt_hold_descriptors(lock);
}

void rt_hook_full(struct tstate *ts) { tr_full(ts); }
void rt_hook_left(struct tstate *ts, const struct ip_block *b, const struct ip_point *point) { tr_left(ts, b, point); }
void rt_hook_signal(struct tstate *ts, int sig, u64 pc, u64 sp) { tr_signal(ts, sig, pc, sp); }
void rt_hook_sigreturn(struct tstate *ts) { tr_sigreturn(ts); }
void rt_hook_syscall_before(struct tstate *ts, long nr, const u64 args[6]) { tr_syscall(ts, nr, args); }
void rt_hook_syscall_after(struct tstate *ts, long nr, const u64 args[6], long result) {
    (void)args;
    tr_sysret(ts, nr, result);
}
