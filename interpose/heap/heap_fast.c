/* What programs ask of the heap most often, answered without the full exit (heap_entry.S): small blocks that are there,
 * given and taken back without anything to report, and runs of bytes for string functions.  Whatever needs a report, a
 * wait or the kernel's memory is left to rt_heap_request: heap_fast returns 0, and has changed nothing that the program
 * could see.
 *
 * The thread counts as in translated code meanwhile, so that a flush waits for it: it may wait for nobody, and only
 * tries to get the lock, for a microsecond.
 */
#include "heap/heap_cells.h"
#include "requests/requests.h"

#define MOST_BYTES (16ull << 10) /* beyond, marking takes longer than the exit */

int heap_fast(struct tstate *ts);

static inline bool keeps_origins(void) { return rt.flags & IP_C_ORIGINS; }

/* While there is one thread nobody can hold it; with origins it is held all the time. */
static inline bool try_lock(void) { return rt_likely(rt_alone) || keeps_origins() || rt_trylock_soon(&heap_lock); }
static inline void unlock(void) {
    if (rt_unlikely(!rt_alone) && !keeps_origins()) rt_unlock(&heap_lock);
}

/* What follows is under heap_lock. */

/* The stack as it is, if such ones are wanted. */
static inline u32 stack_now(struct tstate *ts, u64 wanted) {
    return rt_likely(rt.flags & wanted) ? heap_ctx_now(ts) : 0;
}

/* Room in the quarantine, by the oldest blocks.  The first of them whose cell is of this class is the one that will be
 * given, and need not go back to its span before: that and its record, or NULL.  *full: whether any had to go. */
static inline struct ip_heap_block *oldest_of(u32 class, struct ip_heap_span **span, bool *full) {
    struct ip_heap_block *found = NULL;
    *full = heap_table->quarantine_bytes > rt.chan->freelist_vol;
    while (heap_table->quarantine_bytes > rt.chan->freelist_vol) {
        struct ip_heap_span *s;
        u32 i;
        struct ip_heap_block *b = heap_leave_quarantine(&i, &s);
        if (rt_unlikely(!b)) break;
        if (rt_likely(s && s->stride && s->size_class == class && !found)) {
            found = b;
            *span = s;
        } else if (s && s->stride) {
            heap_cell_back(s, b);
        } else {
            heap_recycle(i);
        }
    }
    return found;
}

/* A new block, or NULL. */
static inline struct ip_heap_block *block_new(u64 size, int kind, u32 stack) {
    u64 at, stride, align = heap_alignment(), bytes = heap_cell_bytes(size, align);
    struct ip_heap_span *s;
    bool full;
    u32 i, class = rt_unlikely(bytes > HEAP_SMALL) ? HEAP_CLASSES : heap_class_of(bytes, &stride);
    struct ip_heap_block *b = oldest_of(class, &s, &full);
    if (rt_likely(b)) {
        at = s->lo + (u64)(b - s->records) * s->stride;
    } else {
        if (class == HEAP_CLASSES) return NULL;
        struct heap_class *c = &heap_classes[class];
        if (!c->spans) return NULL;
        b = heap_cell_take(c, &at, &i);
        if (!full &&
            c->spans) { /* the next one of this size: programs with many blocks have none of it in the caches */
            s = c->spans;
            u64 k = s->free ? s->free - s->first : s->used;
            __builtin_prefetch(s->records + k, 1);
            heap_hook_expected(s->lo + k * s->stride + heap_redzone());
        }
    }
    heap_block_fill(b, RT_ROUND_UP(at + heap_redzone(), align), size, kind, 0);
    b->alloc_ctx = stack;
    heap_table->allocs++;
    heap_table->bytes_allocated += size;
    return b;
}

/* The live block at addr, if nothing is to be said of its release. */
static inline struct ip_heap_block *plain_block(u64 addr, int kind, u32 *index, struct ip_heap_span **span) {
    struct ip_heap_block *b = heap_has_resized ? NULL : heap_cell_exact(addr, span);
    if (rt_unlikely(!b || b->kind != kind || b->size > MOST_BYTES || b->holds)) return NULL;
    *index = heap_index(*span, b);
    return b;
}

static inline void retire(u32 i, struct ip_heap_span *s, struct ip_heap_block *b, u32 stack) {
    if (rt_unlikely(s->swept)) s->swept = false;
    heap_table->frees++;
    if (rt.flags & IP_C_KEEP_FREE_STACK && stack) b->free_ctx = stack;
    heap_hook_released(b->addr, b->size, rt_unlikely(!s->stride) && heap_gives_back(b->addr, b->size));
    heap_retire(i, b);
    /* The next allocation makes room by the oldest one, whose record has been fetched by now, and most often gives it.
     */
    if (heap_table->quarantine_bytes > rt.chan->freelist_vol && rt_likely(heap_waiting.head))
        heap_hook_expected(heap_block(heap_waiting.head)->addr);
}

/* A payload, and what lies behind it up to the next word, which is the cell's. */
static inline void clear(u64 addr, u64 size) {
    const u64 word = 0;
    if (size > 256)
        memset((void *)addr, 0, size);
    else
        for (u64 at = addr; at < addr + size; at += 8) memcpy((void *)at, &word, 8);
}

static inline bool allocate(struct tstate *ts, u64 size, int kind, bool zero, u64 *result) {
    if (rt_unlikely(size > MOST_BYTES || !try_lock())) return false;
    const struct ip_heap_block *b = block_new(size, kind, stack_now(ts, IP_C_KEEP_ALLOC_STACK));
    u64 addr = b ? b->addr : 0;
    unlock();
    if (rt_unlikely(!b)) return false;
    if (zero) clear(addr, size);
    heap_hook_allocated(addr, size, zero);
    *result = addr;
    return true;
}

/* size, align: as the program says, or IP_HR_UNSAID. */
static inline bool release(struct tstate *ts, u64 addr, int kind, u64 size, u64 align) {
    struct ip_heap_span *s;
    u32 i;
    if (align != IP_HR_UNSAID) return false; /* which is looked at, null or not */
    if (!addr) return true;
    heap_hook_expected(addr);
    if (rt_unlikely(!try_lock())) return false;
    struct ip_heap_block *b = plain_block(addr, kind, &i, &s);
    bool plain = b && (size == IP_HR_UNSAID || size == b->size) && (kind == IP_AK_MALLOC || !b->align_log2) &&
                 !heap_has_freed_much();
    if (rt_likely(plain)) retire(i, s, b, stack_now(ts, IP_C_KEEP_FREE_STACK));
    unlock();
    return plain;
}

static inline bool reallocate(struct tstate *ts, u64 old, u64 size, u64 *result) {
    struct ip_heap_span *s;
    u32 i;
    if (!old || !size || size > MOST_BYTES || !try_lock()) return false;
    struct ip_heap_block *was = plain_block(old, IP_AK_MALLOC, &i, &s), *b = NULL;
    if (was) {
        u32 stack = stack_now(ts, IP_C_KEEP_ALLOC_STACK | IP_C_KEEP_FREE_STACK);
        b = block_new(size, IP_AK_MALLOC, rt.flags & IP_C_KEEP_ALLOC_STACK ? stack : 0);
        if (b) {
            u64 keep = size < was->size ? size : was->size;
            *result = b->addr;
            heap_hook_allocated(b->addr, size, false);
            heap_hook_moved(ts, b->addr, old, keep);
            memcpy((void *)b->addr, (const void *)old, keep);
            retire(i, s, was, stack);
        }
    }
    unlock();
    return b != NULL;
}

static bool is_defined(u64 addr, u64 n) {
    u64 k = heap_hook_defined(addr, n); /* of one page; there may be two */
    return k == n || (k && heap_hook_defined(addr + k, n - k) == n - k);
}

/* Less than a page, of which nothing is kept but V bytes of its own.  What is undefined has origins, too. */
static inline bool copy(struct tstate *ts, u64 dst, u64 src, u64 n) {
    if (n >= RT_PAGE || (dst > src && dst - src < n) || !is_defined(src, n)) return false;
    if (!heap_hook_may_access(ts, dst, n) || rt_copy_to(dst, (const void *)src, n) < 0) return false;
    heap_hook_filled(dst, src, n); /* each byte is as defined as the first one */
    return true;
}

static inline bool answer(struct tstate *ts, const u64 *w, u64 *result) {
    switch (w[0]) {
    case IP_HR_MALLOC: return allocate(ts, w[1], (int)w[2], false, result);
    case IP_HR_CALLOC: {
        u64 bytes;
        return (i64)(w[1] | w[2]) >= 0 && !__builtin_mul_overflow(w[1], w[2], &bytes) &&
               allocate(ts, bytes, IP_AK_MALLOC, true, result);
    }
    case IP_HR_REALLOC: return reallocate(ts, w[1], w[2], result);
    case IP_HR_FREE: return release(ts, w[1], (int)w[2], w[3], w[4]);
    case IP_HR_COPY: *result = copy(ts, w[1], w[2], w[3]); return *result;
    case IP_HR_FILL: *result = w[3] < RT_PAGE && heap_bulk_fill(ts, w[1], w[2], w[3]); return *result;
    case IP_HR_PLAIN: *result = heap_plain_run(w[1], w[2], (u8)w[3]); return true;
    default: return false;
    }
}

/* 1: done, ts->target is where the block goes on. */
int heap_fast(struct tstate *ts) {
    const struct ip_exit *x = (const struct ip_exit *)(IP_META_BASE + (u64)IP_META_EXITS) + ts->exit_id;
    const u64 *w = (const u64 *)ts->gpr[IP_RAX];
    u64 pc = rt_pc(x->key), result = 0;
    /* Requests of the stubs alone: their words lie on the stack that they have just been stored to. */
    if (rt_unlikely(!heap_is_plain || pc - rt.stubs_lo >= rt.stubs_hi - rt.stubs_lo || rt_steps(ts) || rt_debugged() ||
                    rt.chan->evict))
        return 0;
    ts->pc = pc + (x->kind_aux >> 8);
    bool hold = keeps_origins() && !rt_alone;
    if (rt_unlikely(hold) && !heap_hook_hold(ts)) return 0;
    bool done = answer(ts, w, &result);
    if (rt_unlikely(hold)) heap_hook_let_go();
    if (rt_unlikely(!done)) return 0;
    rt_request_result(ts, result);
    ts->target = x->patch;
    rt.chan->counters[IP_N_LIGHT]++;
    return 1;
}
