/* Each thread's buffer of records.  It is allocated once for a state of a thread, and stays with it. */
#include <asm/unistd.h>

#include "abi/inline/ticks.h"
#include "runtime/core/core.h"
#include "runtime/seam.h"
#include "trace/trace.h"

#define BYTES (1ull << IP_TR_FULL_BIT)
#define ALIGN (2 * BYTES)
_Static_assert(IP_TR_SLACK <= BYTES, "behind a full buffer the pointer's bit stays set");

static u64 *buffer_of(const struct tstate *ts) { return (u64 *)(ts->tr_ptr & ~(ALIGN - 1)); }

u64 tr_time(void) {
    i64 now[2];
    sys2(__NR_clock_gettime, 0 /* CLOCK_REALTIME */, (long)now);
    return (u64)now[0] * 1000000 + (u64)now[1] / 1000;
}

void tr_event(struct tstate *ts, u32 kind, u32 n, const u64 *words) {
    if (ts->tr_ptr & BYTES) tr_flush(ts);
    u64 *to = (u64 *)ts->tr_ptr;
    to[0] = (u64)n << 32 | kind;
    for (u32 i = 0; i < n; i++) to[1 + i] = words[i];
    ts->tr_ptr = (u64)(to + 1 + n);
}

/* Asked first: the time costs a system call. */
static bool tells_events(void) { return rt.flags & IP_C_TRACE_EVENTS; }

static void tell_time(struct tstate *ts) {
    if (!tells_events()) return;
    u64 words[2] = {tr_time(), ip_cpu_number()};
    tr_event(ts, IP_TR_TIME, 2, words);
}

static void tell_bases(struct tstate *ts) {
    u64 words[2] = {ts->client_fs, ts->client_gs};
    if (rt.flags & IP_C_TRACE_DATA) tr_event(ts, IP_TR_FSBASE, 2, words);
}

/* ---- Who settles --------------------------------------------------------------------------------------- */

static struct tstate *last_one; /* settles for all: nobody else does */

bool tr_settle_begin(struct tstate *ts) {
    const struct tstate *last = __atomic_load_n(&last_one, __ATOMIC_RELAXED);
    if (last == ts) return true;
    /* Either the last one sees that this one has begun, or this one sees the last one. */
    __atomic_exchange_n(&rt_th(ts)->settling, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&last_one, __ATOMIC_SEQ_CST)) return true;
    tr_settle_end(ts);
    return false;
}

void tr_settle_end(struct tstate *ts) { __atomic_store_n(&rt_th(ts)->settling, 0, __ATOMIC_RELEASE); }

bool tr_settle_forked(void) {
    bool ended = last_one != 0;
    last_one = 0;
    return ended;
}

void tr_settle_for_all(struct tstate *ts) {
    struct tstate *o;
    __atomic_store_n(&last_one, ts, __ATOMIC_SEQ_CST);
    for (u32 i = 0; (o = rt_thread_by_index(i)); i++) {
        struct thread_wait w = {0};
        while (o != ts && rt_is_thread(o) && __atomic_load_n(&rt_th(o)->settling, __ATOMIC_SEQ_CST) &&
               thread_wait(o, &w));
    }
}

/* ---- Handing over -------------------------------------------------------------------------------------- */

static void flush(struct tstate *ts) {
    u64 *from = buffer_of(ts), *to = (u64 *)ts->tr_ptr;
    if (to == from) return;
    ts->tr_ptr = (u64)from;
    tr_consume(ts, from, to);
}

void tr_flush(struct tstate *ts) {
    if (!ts->tr_ptr) return;
    if (tr_settle_begin(ts)) {
        flush(ts);
        tr_settle_end(ts);
    } else if (rt_th(ts)->vfork_child) { /* it outlives the process: there is nobody for them */
        ts->tr_ptr = (u64)buffer_of(ts);
    }
}

void tr_full(struct tstate *ts) {
    tr_flush(ts);
    tell_time(ts);
}

void tr_thread_begin(struct tstate *ts) {
    if (!ts->tr_ptr) {
        u64 at = (u64)rt_pages(2 * ALIGN);
        ts->tr_ptr = RT_ROUND_UP(at, ALIGN);
    }
    ts->tr_ptr = (u64)buffer_of(ts);
    tell_time(ts);
    tell_bases(ts);
}

void tr_thread_end(struct tstate *ts) { tr_flush(ts); }

void tr_leaving(struct tstate *ts, bool for_exec) {
    struct tstate *o;
    tr_flush(ts);
    if (for_exec) return; /* another thread may be in its buffer */
    tr_settle_for_all(ts);
    for (u32 i = 0; (o = rt_thread_by_index(i)); i++)
        if (o != ts && rt_is_thread(o) && o->tr_ptr) flush(o);
}

void tr_fork(struct tstate *ts, bool child) {
    if (!child) {
        tr_flush(ts);
        return;
    }
    tr_settle_forked();
    tell_time(ts);
    tell_bases(ts);
}

bool tr_is_recorded(const struct ip_block *b, const struct ip_point *point) {
    return b->trace && (point->flags & IP_PF_RECORDED);
}

/* The run's record is the newest, if it has been written. */
void tr_left(struct tstate *ts, const struct ip_block *b, const struct ip_point *point) {
    if (!tr_is_recorded(b, point)) return;
    const struct ip_tr_block *t = (const struct ip_tr_block *)(u64)b->trace;
    u64 *record = (u64 *)ts->tr_ptr - 1 - t->n_words;
    if (record < buffer_of(ts) || (u32)*record != b->trace) return;
    u64 done = point->guest_off, words = done ? tr_insns(t)[done - 1].n_words : 0;
    *record = (u64)t->n_words << 56 | words << 48 | done << 32 | b->trace;
}

void tr_signal(struct tstate *ts, int sig, u64 pc, u64 sp) {
    if (!tells_events()) return;
    u64 words[] = {(u64)sig, pc, sp, ts->gpr[IP_RSP], tr_time(), ip_cpu_number()};
    tr_event(ts, IP_TR_SIGNAL, 6, words);
}

void tr_sigreturn(struct tstate *ts) {
    if (!tells_events()) return;
    u64 words[] = {rt_pc(ts->pc), ts->gpr[IP_RSP]};
    tr_event(ts, IP_TR_SIGRETURN, 2, words);
}

void tr_syscall(struct tstate *ts, long nr, const u64 args[6]) {
    if (!tells_events()) return;
    u64 words[] = {(u64)nr, args[0], args[1], args[2], args[3], args[4], args[5], tr_time(), ip_cpu_number()};
    tr_event(ts, IP_TR_SYSCALL, 9, words);
}

void tr_sysret(struct tstate *ts, long nr, long result) {
    if (tells_events()) {
        u64 words[] = {(u64)nr, (u64)result, tr_time(), ip_cpu_number()};
        tr_event(ts, IP_TR_SYSRET, 4, words);
    }
    if (nr == __NR_arch_prctl && result == 0) tell_bases(ts);
}
