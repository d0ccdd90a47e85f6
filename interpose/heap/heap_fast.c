/* What programs ask of the heap most often, answered without the full exit (heap_entry.S): small blocks that are there,
 * given and taken back without anything to report.  Whatever needs a report, a wait or the kernel's memory is left to
 * rt_heap_request: heap_fast returns 0, and has changed nothing.
 *
 * The thread counts as in translated code meanwhile, so that a flush waits for it: it may wait for nobody, and only
 * tries to get the lock.
 */
#include "heap/heap.h"
#include "heap/heap_hooks.h"
#include "requests/requests.h"

#define MOST_BYTES (16ull << 10) /* beyond, marking takes longer than the exit */

int heap_fast(struct tstate *ts);

/* A new block, or 0; under heap_lock. */
static struct ip_heap_block *block_new(u64 size, int kind, const struct heap_trace *t) {
    bool zeroed;
    u32 i = heap_block_ready(size) ? heap_block_new(size, 0, kind, &zeroed) : 0;
    return i ? heap_note_new(i, size, t) : NULL;
}

/* The live block at addr, if nothing is to be said of its release; under heap_lock. */
static u32 plain_block(u64 addr, int kind) {
    u32 i = heap_has_custom ? 0 : heap_block_exact(addr);
    return i && heap_block(i)->kind == kind && heap_block(i)->size <= MOST_BYTES ? i : 0;
}

static void retire(u32 i, const struct heap_trace *t) {
    struct ip_heap_block *b = heap_block(i);
    heap_table->frees++;
    if ((rt.flags & IP_C_KEEP_FREE_STACK) && t->n) b->free_ctx = heap_ctx(t->frames, t->n);
    heap_hook_released(b->addr, b->size);
    heap_block_retire(i);
}

static bool allocate(struct tstate *ts, u64 size, int kind, bool zero, u64 *result) {
    struct heap_trace t;
    if (size > MOST_BYTES) return false;
    heap_take_trace(ts, &t, IP_C_KEEP_ALLOC_STACK);
    if (!rt_trylock(&heap_lock)) return false;
    struct ip_heap_block *b = block_new(size, kind, &t);
    if (b) *result = b->addr;
    rt_unlock(&heap_lock);
    if (!b) return false;
    if (zero) rt_memset((void *)*result, 0, size);
    heap_hook_allocated(*result, size, zero);
    return true;
}

/* size: as the program says, or ~0. */
static bool release(struct tstate *ts, u64 addr, int kind, u64 size, u64 align) {
    struct heap_trace t;
    if (!addr) return true;
    if (align) return false;
    heap_hook_expected(addr);
    if (rt_alone) heap_block_expected(addr);
    heap_take_trace(ts, &t, IP_C_KEEP_FREE_STACK);
    if (!rt_trylock(&heap_lock)) return false;
    u32 i = plain_block(addr, kind);
    const struct ip_heap_block *b = heap_block(i);
    bool plain = i && (size == ~0ull || size == b->size) && (kind == IP_AK_MALLOC || !b->align_log2);
    if (plain) retire(i, &t);
    rt_unlock(&heap_lock);
    return plain;
}

static bool reallocate(struct tstate *ts, u64 old, u64 size, u64 *result) {
    struct heap_trace t;
    if (!old || !size || size > MOST_BYTES) return false;
    heap_take_trace(ts, &t, IP_C_KEEP_ALLOC_STACK | IP_C_KEEP_FREE_STACK);
    if (!rt_trylock(&heap_lock)) return false;
    u32 i = plain_block(old, IP_AK_MALLOC);
    struct ip_heap_block *b = i ? block_new(size, IP_AK_MALLOC, &t) : NULL;
    if (b) {
        u64 was = heap_block(i)->size, keep = size < was ? size : was;
        *result = b->addr;
        heap_hook_allocated(b->addr, size, false);
        heap_hook_copied(ts, b->addr, old, keep);
        rt_memcpy((void *)b->addr, (const void *)old, keep);
        retire(i, &t);
    }
    rt_unlock(&heap_lock);
    return b != NULL;
}

/* 1: done, ts->target is where the block goes on. */
int heap_fast(struct tstate *ts) {
    const struct ip_exit *x = (const struct ip_exit *)(IP_META_BASE + (u64)IP_META_EXITS) + ts->exit_id;
    const u64 *w = (const u64 *)ts->gpr[IP_RAX];
    u64 pc = rt_pc(x->key), result = 0;
    bool done;
    /* Requests of the stubs alone: their words lie on the stack that they have just been stored to. */
    if (!heap_table || pc - rt.stubs_lo >= rt.stubs_hi - rt.stubs_lo || rt_steps(ts) || rt_debugged() ||
        (rt.flags & (IP_C_NO_CHAIN | IP_C_HEAP_COUNTS | IP_C_SHOW_HEAP)) || ((rt.flags & IP_C_ORIGINS) && !rt_alone) ||
        (rt.chan->malloc_fill & rt.chan->free_fill) != -1 || rt.chan->evict)
        return 0;
    ts->pc = pc + (x->kind_aux >> 8);
    switch (w[0]) {
    case IP_HR_MALLOC: done = allocate(ts, w[1], (int)w[2], false, &result); break;
    case IP_HR_CALLOC: {
        u64 bytes;
        done = !__builtin_mul_overflow(w[1], w[2], &bytes) && allocate(ts, bytes, IP_AK_MALLOC, true, &result);
        break;
    }
    case IP_HR_REALLOC: done = reallocate(ts, w[1], w[2], &result); break;
    case IP_HR_FREE: done = release(ts, w[1], (int)w[2], w[3], w[4]); break;
    default: return 0;
    }
    if (!done) return 0;
    rt_request_result(ts, result);
    ts->target = x->patch;
    rt.chan->counters[IP_N_LIGHT]++;
    return 1;
}
