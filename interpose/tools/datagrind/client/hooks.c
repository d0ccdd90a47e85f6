/* What datagrind wants to be told (runtime/hooks.h, heap/heap_hooks.h): most goes into the thread's records, so that it
 * is in order with what the thread runs. */
#include <asm/unistd.h>
#include <linux/mman.h>

#include "heap/heap.h"
#include "heap/heap_hooks.h"
#include "interpose/datagrind_numbers.h"
#include "interpose/numbers.h"
#include "runtime/seam.h"
#include "tools/datagrind/client/datagrind.h"

static inline bool on(void) { return rt.flags & IP_C_TRACE; }

void rt_hook_start(struct tstate *ts) {
    (void)ts;
    dg_plans_start();
    dg_stacks_start();
}

void rt_hook_fork_lock(enum rt_fork_phase phase, bool lock) {
    if (phase != RT_FORK_OUTER) return;
    if (lock) {
        rt_heap_fork_lock();
        rt_lock(&dg.lock);
    } else {
        rt_unlock(&dg.lock);
        rt_heap_fork_unlock();
    }
}

/* ---- Threads and processes ------------------------------------------------------- */

void rt_hook_thread_begin(struct tstate *ts) {
    if (!on()) return;
    dg_thread_begin(ts);
    tr_thread_begin(ts);
}

void rt_hook_thread_end(struct tstate *ts) {
    if (!on()) return;
    tr_thread_end(ts);
    dg_thread_end(ts);
}

void rt_hook_leaving(struct tstate *ts, bool for_exec) {
    if (!on()) return;
    tr_leaving(ts, for_exec);
    if (for_exec)
        dg_emit(dg_thread(ts));
    else
        dg_emit_all();
    dg_send();
}

static void block_allocated(struct tstate *ts, u64 addr, u64 size) {
    u64 words[] = {addr, size};
    tr_event(ts, DG_EV_MALLOC, 2, words);
}

/* A child's file begins with the blocks that it has from its parent: it may access them, and free them. */
static void blocks_inherited(struct tstate *ts) {
    if (!heap_table) return; /* nothing is replaced */
    for (u32 i = 0; (i = heap_block_next_live(i));) block_allocated(ts, heap_block(i)->addr, heap_block(i)->size);
}

void rt_hook_fork(struct tstate *ts, bool child) {
    if (!on()) return;
    if (child) {
        dg_threads_after_fork(ts);
        dg_output_after_fork();
        dg.n_bbdefs = 0;
        dg.n_contexts = 0;
        dg.file++;
    }
    tr_fork(ts, child);
    if (child) blocks_inherited(ts);
}

/* ---- Records -------------------------------------------------------------------------- */

void rt_hook_full(struct tstate *ts) { tr_full(ts); }

enum rt_slow rt_hook_slow(struct tstate *ts, const struct ip_exit *x) {
    tr_some(ts, x);
    return RT_SLOW_RESUME;
}

void rt_hook_left(struct tstate *ts, const struct ip_block *b, const struct ip_point *point) {
    if (on()) tr_left(ts, b, point);
}

void rt_hook_signal(struct tstate *ts, int sig, u64 pc, u64 sp) {
    u64 words[] = {pc, sp, ts->gpr[IP_RSP]};
    (void)sig;
    if (on()) tr_event(ts, DG_EV_SIGNAL, 3, words);
}

void rt_hook_sigreturn(struct tstate *ts) {
    if (on()) tr_event(ts, DG_EV_SIGRETURN, 1, &ts->gpr[IP_RSP]);
}

static bool has_code(u64 addr, u64 len) {
    struct rt_seg seg;
    for (u64 at = addr; at - addr < len && rt_next_seg(at, &seg) && seg.lo - addr < len; at = seg.hi)
        if (seg.prot & PROT_EXEC) return true;
    return false;
}

/* What another thread does because of a call shall come later in the file than what led to the call; and what ran in
 * code that goes, before what will be mapped there. */
void rt_hook_syscall_before(struct tstate *ts, long nr, const u64 args[6]) {
    bool goes = nr == __NR_munmap && has_code(args[0], args[1]);
    bool starts = nr == __NR_clone || nr == __NR_clone3;
    if (!on() || (!goes && !starts && !dg_has_threads())) return;
    tr_flush(ts);
    dg_emit(dg_thread(ts));
    if (goes) __atomic_fetch_add(&dg.code, 1, __ATOMIC_RELAXED);
}

void rt_hook_syscall_after(struct tstate *ts, long nr, const u64 args[6], long result) {
    (void)args;
    if (on()) tr_sysret(ts, nr, result);
}

/* ---- Requests -------------------------------------------------------------------------- */

/* A string of the program's, cut; what cannot be read is empty. */
static void text_of(u64 *words, u64 at) {
    char *to = (char *)words;
    memset(to, 0, DG_TEXT_WORDS * 8);
    for (u32 i = 0; i < DG_TEXT_MAX; i++)
        if (rt_copy_from(to + i, at + i, 1) < 0 || !to[i]) {
            to[i] = 0;
            return;
        }
}

static void block_freed(struct tstate *ts, u64 addr) { tr_event(ts, DG_EV_FREE, 1, &addr); }

static bool request(struct tstate *ts, u64 code, const u64 a[5]) {
    u64 words[2 + 2 * DG_TEXT_WORDS] = {a[0], a[1]};
    switch (code) {
    case INTERPOSE_RQ_MALLOCLIKE_BLOCK:
        if (a[0]) block_allocated(ts, a[0], a[1]);
        return true;
    case INTERPOSE_RQ_FREELIKE_BLOCK:
        if (a[0]) block_freed(ts, a[0]);
        return true;
    case INTERPOSE_RQ_RESIZEINPLACE_BLOCK:
        if (!a[0]) return true;
        block_freed(ts, a[0]);
        block_allocated(ts, a[0], a[2]);
        return true;
    case INTERPOSE_RQ_DG_TRACK_RANGE:
        text_of(words + 2, a[2]);
        text_of(words + 2 + DG_TEXT_WORDS, a[3]);
        tr_event(ts, DG_EV_TRACK, 2 + 2 * DG_TEXT_WORDS, words);
        return true;
    case INTERPOSE_RQ_DG_UNTRACK_RANGE: tr_event(ts, DG_EV_UNTRACK, 2, a); return true;
    case INTERPOSE_RQ_DG_START_EVENT:
    case INTERPOSE_RQ_DG_END_EVENT:
        text_of(words, a[0]);
        tr_event(ts, code == INTERPOSE_RQ_DG_START_EVENT ? DG_EV_START : DG_EV_END, DG_TEXT_WORDS, words);
        return true;
    case DG_RQ_ATTACH: /* asked by us, never by the program */
    case DG_RQ_STOPPED:
    case DG_RQ_BYTES: return true;
    default: /* pools mean nothing here */
        return code >= INTERPOSE_RQ_MALLOCLIKE_BLOCK && code <= INTERPOSE_RQ_RESIZEINPLACE_BLOCK;
    }
}

bool rt_hook_request(struct tstate *ts, u64 code, const u64 args[5], u64 *result) {
    if (heap_request(ts, code, args, result)) return true;
    return on() ? request(ts, code, args) : code >= DG_RQ_ATTACH && code <= DG_RQ_BYTES;
}

/* ---- The replaced heap -------------------------------------------------------------------- */

void heap_hook_allocated(u64 addr, u64 size, bool zeroed) {
    (void)zeroed;
    if (on()) block_allocated(rt_current(), addr, size);
}

void heap_hook_released(u64 addr, u64 size, bool idle) {
    (void)idle;
    (void)size;
    if (on()) block_freed(rt_current(), addr);
}
