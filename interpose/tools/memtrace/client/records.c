/* Records to the raw file (memtrace_abi.h), packed (trace/pack.h), and the templates that they name.
 *
 * One file serves all threads of a process, so there is one descriptor to hide.  The lock over a write is the one that
 * keeps the descriptor where it is.  What cannot be written ends the trace, not the program. */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/uio.h>

#include "abi/inline/ticks.h"
#include "runtime/syscalls/syscalls.h"
#include "tools/memtrace/memtrace_abi.h"
#include "trace/pack.h"
#include "trace/trace.h"

#define TEMPLATES   (u64) IP_TRACE_BASE
#define BUFFER      (64 * 1024ull) /* of packed records; as many are written at once */
#define MOST_WORDS  16384          /* that are packed at once */
#define PATHS_BYTES (PK_PATHS * sizeof(u32))

struct recorder { /* of a state of a thread */
    u32 number;
    u32 window; /* 1 + the one that its records belong to, 0: none yet */
    bool full;  /* it has as many bytes as it may have */
    u64 bytes;
    struct pk_state pack;
    u64 room_words; /* of pack.words */
    u8 *out;        /* packed, BUFFER and what MOST_WORDS can be */
    u64 used;
};

static struct recorder recorders[IP_SLOTS + 1]; /* by tid_guest */
static u32 threads;
static u64 templates_saved, file_bytes;
static bool stopped; /* nothing is written any more */

/* Windows: edge is the count at which the present one ends, or the next one begins. */
static u64 counted, edge;
static u32 window;
static bool inside;

static u64 setting(enum ip_mtr_word word) { return rt.chan->tool[word]; }

/* The packer begins anew. */
static void forget(struct recorder *r) {
    if (r->room_words) rt_free_pages(r->pack.words, r->room_words * sizeof *r->pack.words);
    if (r->pack.next) rt_free_pages(r->pack.next, PATHS_BYTES);
    *r = (struct recorder){.out = r->out, .pack.templates = (const u8 *)TEMPLATES};
}

static void *grown(void *from, u64 *room, u64 wanted, u64 size) {
    if (wanted <= *room) return from;
    u64 more = RT_ROUND_UP(2 * wanted * size, RT_PAGE);
    void *to = rt_pages(more);
    if (*room) {
        memcpy(to, from, *room * size);
        rt_free_pages(from, *room * size);
    }
    *room = more / size;
    return to;
}

static bool has_windows(void) { return setting(IP_MTR_AFTER) || setting(IP_MTR_FOR); }

static void begin_process(struct tstate *ts) {
    for (u32 i = 0; i < sizeof recorders / sizeof recorders[0]; i++)
        if (recorders[i].out || recorders[i].number) forget(&recorders[i]);
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

static void append(struct iovec *parts, u64 n) {
    u64 bytes = 0;
    for (u64 i = 0; i < n; i++) bytes += parts[i].iov_len;
    long error = rt_append(rt.tool_fd, file_bytes, parts, n);
    if (error) fail(-error);
    file_bytes += bytes;
}

static void put(u32 tid, u32 number, const void *from, u64 bytes) {
    struct ip_mtr_frame frame = {tid, number, bytes};
    struct iovec all[2] = {{&frame, sizeof frame}, {(void *)(u64)from, bytes}};
    if (bytes && !stopped) append(all, 2);
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
    struct ip_mtr_head head = {IP_MTR_MAGIC, TEMPLATES, rt.pid, PK_LAYOUT};
    struct iovec all = {&head, sizeof head};
    file_bytes = 0;
    append(&all, 1);
}

/* All templates that records may name by now. */
static void put_templates(void) {
    u64 used = rt.meta->trace_used;
    if (used == templates_saved) return;
    put(0, 0, (const void *)(TEMPLATES + templates_saved), used - templates_saved);
    templates_saved = used;
}

/* What is packed of a thread to the file, with the descriptors held. */
static void write_out(struct tstate *ts) {
    struct recorder *r = &recorders[ts->tid_guest];
    if (!r->number || !r->out) return;
    put_templates();
    r->bytes += r->used;
    put(rt_th(ts)->tid, r->number, r->out, r->used);
    r->used = 0;
}

/* With the descriptors held: a fork finds the recorder whole. */
static void prepare(struct recorder *r) {
    if (!r->out) r->out = rt_pages(RT_ROUND_UP(BUFFER + pk_bound(MOST_WORDS), RT_PAGE));
    if (!r->pack.next) r->pack.next = rt_pages(PATHS_BYTES);
    r->pack.templates = (const u8 *)TEMPLATES;
    r->pack.words = grown(r->pack.words, &r->room_words, rt.meta->trace_words, sizeof *r->pack.words);
}

static bool is_prepared(const struct recorder *r) {
    return r->out && r->pack.next && rt.meta->trace_words <= r->room_words;
}

static void pack_all(struct recorder *r, const u64 *from, const u64 *to) {
    r->used = (u64)(pk_pack(&r->pack, from, to, (u32)TEMPLATES, r->out + r->used) - r->out);
}

/* As many records as the thread may have, one by one where not all of them surely fit. */
static void pack(struct recorder *r, const u64 *from, const u64 *to) {
    u64 most = setting(IP_MTR_MOST);
    while (from < to && !r->full) {
        const u64 *end = to;
        if (most && r->bytes + r->used + pk_bound((u64)(to - from)) > most) {
            end = from + ((u32)*from < IP_TR_EVENTS ? 1 + (*from >> 32) : 1 + (*from >> 56));
            r->full = r->bytes + r->used + pk_bound((u64)(end - from)) > most;
        }
        if (!r->full) pack_all(r, from, end);
        from = end;
    }
}

static bool is_wanted(const struct recorder *r) {
    return !r->full && (!setting(IP_MTR_ONLY) || setting(IP_MTR_ONLY) == r->number);
}

/* With the descriptors held. */
static void put_records(struct tstate *ts, const u64 *from, const u64 *to) {
    struct recorder *r = &recorders[ts->tid_guest];
    if (!is_wanted(r)) return;
    prepare(r);
    pack(r, from, to);
    if (r->used >= BUFFER) write_out(ts);
}

/* ---- windows ---- */

/* What a window begins with in a thread: skip instructions of its next run are left out. */
static void put_beginning(struct tstate *ts, u64 skip) {
    u64 lead[] = {2ull << 32 | IP_TR_TIME,    tr_time(), 0,   2ull << 32 | IP_TR_FSBASE, ts->client_fs, ts->client_gs,
                  2ull << 32 | IP_MTR_WINDOW, window,    skip};
    lead[2] = ip_cpu_number();
    recorders[ts->tid_guest].window = window + 1;
    put_records(ts, lead, lead + sizeof lead / 8);
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
        put_records(ts, from, rec);
        put_records(ts, cut, cut + 2);
        put_records(ts, rec, rec + words);
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
        u64 head = *rec, words = 1 + (head >> 32);
        if ((u32)head >= IP_TR_EVENTS) {
            u64 done = tr_completed(head);
            words = 1 + (head >> 56);
            from = edges(ts, from, rec, words, done);
            counted += done;
        }
        rec += words;
    }
    if (inside) put_records(ts, from, to);
}

/* Instructions that records have completed. */
static u64 completed(const u64 *rec, const u64 *to) {
    u64 sum = 0;
    while (rec < to) {
        u64 head = *rec;
        bool is_run = (u32)head >= IP_TR_EVENTS;
        sum += is_run ? tr_completed(head) : 0;
        rec += 1 + (is_run ? head >> 56 : head >> 32);
    }
    return sum;
}

/* With the descriptors held: no window begins or ends in these records, and they are counted. */
static bool lie_within(const struct recorder *r, u64 done) {
    if (stopped || counted + done > edge || (inside && (r->window != window + 1 || !is_prepared(r)))) return false;
    counted += done;
    return true;
}

void tr_consume(struct tstate *ts, const u64 *from, const u64 *to) {
    if (rt_th(ts)->vfork_child || !rt.chan->tool_path[0]) return;
    struct recorder *r = &recorders[ts->tid_guest];
    bool windows = has_windows(), wanted = !windows;
    if (windows || rt.tool_fd < 0 || !is_prepared(r)) {
        u64 done = windows ? completed(from, to) : 0;
        rt_hold_descriptors(true);
        if (rt.tool_fd < 0 && !stopped) open_file();
        if (!windows && !stopped) prepare(r);
        if (windows && lie_within(r, done))
            wanted = inside;
        else if (windows && !stopped)
            put_windows(ts, from, to);
        rt_hold_descriptors(false);
    }
    if (!wanted || stopped || !is_wanted(r)) return;
    pack(r, from, to); /* this is what takes the time: each thread by itself */
    if (r->used < BUFFER) return;
    rt_hold_descriptors(true);
    write_out(ts);
    rt_hold_descriptors(false);
}

/* ---- hooks ---- */

void rt_hook_start(struct tstate *ts) { begin_process(ts); }

static void write_held(struct tstate *ts) {
    rt_hold_descriptors(true);
    if (rt.tool_fd >= 0) write_out(ts);
    rt_hold_descriptors(false);
}

void rt_hook_thread_begin(struct tstate *ts) {
    if (!recorders[ts->tid_guest].number && !rt_th(ts)->vfork_child) {
        rt_hold_descriptors(true);
        recorders[ts->tid_guest].number = ++threads;
        rt_hold_descriptors(false);
    }
    tr_thread_begin(ts);
}

void rt_hook_thread_end(struct tstate *ts) {
    tr_thread_end(ts);
    if (rt_th(ts)->vfork_child) return;
    write_held(ts);
    forget(&recorders[ts->tid_guest]);
}

void rt_hook_leaving(struct tstate *ts, bool for_exec) {
    struct tstate *other;
    tr_leaving(ts, for_exec);
    write_held(ts);
    for (u32 i = 0; !for_exec && (other = rt_thread_by_index(i)); i++) write_held(other);
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
    if (!child) write_held(ts);
}

void rt_hook_full(struct tstate *ts) { tr_full(ts); }
enum rt_slow rt_hook_slow(struct tstate *ts, const struct ip_exit *x) {
    tr_some(ts, x);
    return RT_SLOW_RESUME;
}
void rt_hook_left(struct tstate *ts, const struct ip_block *b, const struct ip_point *point) { tr_left(ts, b, point); }
void rt_hook_signal(struct tstate *ts, int sig, u64 pc, u64 sp) { tr_signal(ts, sig, pc, sp); }
void rt_hook_sigreturn(struct tstate *ts) { tr_sigreturn(ts); }

/* After these the file may be out of reach, which belongs to whom the process belongs to now. */
static bool changes_reach(long nr) {
    switch (nr) {
    case __NR_setuid:
    case __NR_setreuid:
    case __NR_setresuid:
    case __NR_setfsuid:
    case __NR_chroot:
    case __NR_pivot_root:
    case __NR_setns:
    case __NR_unshare: return true;
    default: return false;
    }
}

void rt_hook_syscall_before(struct tstate *ts, long nr, const u64 args[6]) {
    if (changes_reach(nr) && !rt_th(ts)->vfork_child && rt.chan->tool_path[0]) {
        rt_hold_descriptors(true);
        if (rt.tool_fd < 0 && !stopped) open_file();
        rt_hold_descriptors(false);
    }
    tr_syscall(ts, nr, args);
}
void rt_hook_syscall_after(struct tstate *ts, long nr, const u64 args[6], long result) {
    (void)args;
    tr_sysret(ts, nr, result);
}
