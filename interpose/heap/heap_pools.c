/* Memory pools: chunks that the program hands out itself, and says so (requests 0x1303 to 0x130a).
 *
 * A pool is known by its anchor, any address that the program chooses.  Its chunks are block records without a cell, in
 * a hash table by pool and address and in a list of their pool (struct ip_heap_pooled).  As with Valgrind a chunk
 * counts as an allocation, but not as a block in use, and its release not as a free.
 */
#include "heap/heap.h"
#include "heap/heap_hooks.h"
#include "interpose/numbers.h"
#include <asm/unistd.h>
#include "runtime/core/errors.h"

#define FIRST_CAP   1024u
#define POOLS_CHUNK 1024u
#define CHUNKS      4096u
#define FEW         256u
#define LOOK_MAX    4096u /* chunks that are looked at for a change of one */

/* Flags of VALGRIND_CREATE_MEMPOOL_EXT. */
enum { AUTO_FREE = 1, METAPOOL = 2 };

struct pool {
    u64 anchor;
    u32 number, redzone;
    u32 chunks; /* the newest; linked through .after and .before */
    u32 next;   /* with the same hash, or free */
    bool zeroed, auto_free, meta;
};

/* Chained hash tables; 0 ends a chain.  All under heap_lock. */
struct chains {
    u32 *heads, cap, used;
};

static struct pool *pool_chunks[CHUNKS];
static u32 n_pools = 1, pool_free;
static struct chains by_anchor, by_place;

static struct pool *pool_at(u32 number) { return &pool_chunks[number / POOLS_CHUNK][number % POOLS_CHUNK]; }

static u32 hash(u64 a, u64 b) {
    u64 h = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
    return (u32)(h >> 32);
}

static struct ip_heap_pooled *pooled(u32 i) { return (struct ip_heap_pooled *)(heap_block(i) + 1); }
static u32 hash_pool(u32 number) { return hash(pool_at(number)->anchor, 0); }
static u32 hash_chunk(u32 i) { return hash(heap_block(i)->addr, pooled(i)->pool); }
static u32 *next_pool(u32 number) { return &pool_at(number)->next; }
static u32 *next_chunk(u32 i) { return &heap_block(i)->next; }

static void chain_add(struct chains *t, u32 i, u32 (*hash_of)(u32), u32 *(*next_of)(u32)) {
    if (t->used >= t->cap) {
        struct chains old = *t;
        t->cap = old.cap ? old.cap * 2 : FIRST_CAP;
        t->heads = rt_pages(t->cap * sizeof *t->heads);
        for (u32 k = 0; k < old.cap; k++)
            for (u32 each = old.heads[k], next; each; each = next) {
                u32 *head = &t->heads[hash_of(each) & (t->cap - 1)];
                next = *next_of(each);
                *next_of(each) = *head;
                *head = each;
            }
        if (old.heads) rt_free_pages(old.heads, old.cap * sizeof *old.heads);
    }
    u32 *head = &t->heads[hash_of(i) & (t->cap - 1)];
    *next_of(i) = *head;
    *head = i;
    t->used++;
}

static void chain_remove(struct chains *t, u32 i, u32 (*hash_of)(u32), u32 *(*next_of)(u32)) {
    u32 *at = &t->heads[hash_of(i) & (t->cap - 1)];
    while (*at != i) at = next_of(*at);
    *at = *next_of(i);
    t->used--;
}

/* The pool made or moved there last; NULL: there is none. */
static struct pool *pool_of(u64 anchor) {
    if (!by_anchor.cap) return NULL;
    for (u32 i = by_anchor.heads[hash(anchor, 0) & (by_anchor.cap - 1)]; i; i = *next_pool(i))
        if (pool_at(i)->anchor == anchor) return pool_at(i);
    return NULL;
}

static u32 chunk_of(const struct pool *p, u64 addr) {
    if (!by_place.cap) return 0;
    for (u32 i = by_place.heads[hash(addr, p->number) & (by_place.cap - 1)]; i; i = *next_chunk(i))
        if (heap_block(i)->addr == addr && pooled(i)->pool == p->number) return i;
    return 0;
}

static void chunk_add(struct pool *p, u32 i) {
    *pooled(i) = (struct ip_heap_pooled){.pool = p->number, .redzone = p->redzone, .after = p->chunks};
    if (p->chunks) pooled(p->chunks)->before = i;
    p->chunks = i;
    chain_add(&by_place, i, hash_chunk, next_chunk);
    heap_table->has_others = 1;
}

static void chunk_remove(struct pool *p, u32 i) {
    const struct ip_heap_pooled *b = pooled(i);
    chain_remove(&by_place, i, hash_chunk, next_chunk);
    if (b->after) pooled(b->after)->before = b->before;
    if (b->before)
        pooled(b->before)->after = b->after;
    else
        p->chunks = b->after;
}

/* ---- what goes wrong ------------------------------------------------------------------ */

static void error(struct tstate *ts, int kind, u64 addr) {
    struct ip_error *e = rt_error_begin(ts, kind);
    e->addr = addr;
    rt_error_end(ts, e);
}

/* Uses of pools that nobody can make sense of end the run, as under Valgrind. */
static __attribute__((noreturn)) void give_up(struct tstate *ts, u64 anchor, const char *why) {
    rt_note(ts, "VALGRIND_CREATE_MEMPOOL(0x%lx): %s; the run ends here", anchor, why);
    for (;;) sys1(__NR_exit_group, 1);
}

/* The pool with its lock taken; NULL: reported. */
static struct pool *lock_pool(struct tstate *ts, u64 anchor) {
    heap_lock_all();
    struct pool *p = pool_of(anchor);
    if (p) return p;
    rt_unlock(&heap_lock);
    error(ts, IP_E_POOL, anchor);
    return NULL;
}

/* Chunks that overlap are told where Valgrind tells them: at requests about a pool's chunks as a whole, and at changes
 * of one, as long as the pool is so small that a look at all of them costs little. */
static bool overlap(struct pool *p, u32 most) {
    static struct heap_extent few[FEW];
    u32 n = 0, at;
    for (u32 i = p->chunks; i && n <= most; i = pooled(i)->after) n++;
    if (n < 2 || n > most) return false;
    struct heap_extent *e = n <= FEW ? few : rt_pages(n * sizeof *e);
    at = n; /* the oldest first: so they are sorted already, most often */
    for (u32 i = p->chunks; i; i = pooled(i)->after) {
        const struct ip_heap_block *b = heap_block(i);
        e[--at] = (struct heap_extent){b->addr, b->addr + b->size};
    }
    bool found = heap_extents_overlap(e, n);
    if (e != few) rt_free_pages(e, n * sizeof *e);
    return found;
}

static void tell_overlap(struct tstate *ts, u32 number) {
    struct ip_slot *s = rt_slot(ts);
    u64 words[6] = {IP_HR_BAD_POOL, number};
    memcpy(s->data, words, sizeof words);
    s->len = sizeof words;
    s->a[0] = s->r[2] = 0;
    rt_request_python(ts, IP_R_REQUEST);
}

/* The pool with its lock taken, after a look at its chunks; NULL: reported. */
static struct pool *lock_sound_pool(struct tstate *ts, u64 anchor, u32 most) {
    struct pool *p = lock_pool(ts, anchor);
    if (!p || !overlap(p, most)) return p;
    u32 number = p->number;
    rt_unlock(&heap_lock); /* Python reads the chunks */
    tell_overlap(ts, number);
    return lock_pool(ts, anchor);
}

static void unlock_sound_pool(struct tstate *ts, struct pool *p, u32 most) {
    u32 number = overlap(p, most) ? p->number : 0;
    rt_unlock(&heap_lock);
    if (number) tell_overlap(ts, number);
}

/* ---- requests ------------------------------------------------------------------------- */

static void create(struct tstate *ts, u64 anchor, u64 redzone, bool zeroed, u64 flags) {
    if (flags & AUTO_FREE && !(flags & METAPOOL))
        give_up(ts, anchor, "a pool with VALGRIND_MEMPOOL_AUTO_FREE needs VALGRIND_MEMPOOL_METAPOOL, too");
    heap_lock_all();
    if (pool_of(anchor)) {
        rt_unlock(&heap_lock);
        give_up(ts, anchor, "there is a pool at this address already");
    }
    u32 number = pool_free;
    if (number) {
        pool_free = *next_pool(number);
    } else {
        number = n_pools++;
        if (number >= POOLS_CHUNK * CHUNKS) rt_die("the program has too many memory pools (%u)", number);
        if (!pool_chunks[number / POOLS_CHUNK])
            pool_chunks[number / POOLS_CHUNK] = rt_pages(POOLS_CHUNK * sizeof(struct pool));
    }
    *pool_at(number) = (struct pool){.anchor = anchor,
                                     .number = number,
                                     .redzone = (u32)redzone,
                                     .zeroed = zeroed,
                                     .auto_free = (flags & AUTO_FREE) != 0,
                                     .meta = (flags & METAPOOL) != 0};
    chain_add(&by_anchor, number, hash_pool, next_pool);
    rt_unlock(&heap_lock);
}

static void destroy(struct tstate *ts, u64 anchor) {
    struct pool *p = lock_sound_pool(ts, anchor, ~0u);
    if (!p) return;
    for (u32 i; (i = p->chunks);) {
        struct ip_heap_block *b = heap_block(i);
        chunk_remove(p, i);
        heap_set_with_red_zones(b->addr, b->size, p->redzone, RT_SH_NOACCESS);
        heap_record_free(i);
    }
    chain_remove(&by_anchor, p->number, hash_pool, next_pool);
    p->next = pool_free;
    pool_free = p->number;
    rt_unlock(&heap_lock);
}

static void alloc(struct tstate *ts, u64 anchor, u64 addr, u64 size) {
    struct heap_trace t;
    heap_take_trace(ts, &t, IP_C_KEEP_ALLOC_STACK);
    struct pool *p = lock_pool(ts, anchor);
    if (!p) return;
    bool zeroed = p->zeroed;
    u64 redzone = p->redzone;
    u32 i = addr ? heap_record_new(true) : 0;
    size = heap_fitting(addr, size);
    if (i) {
        *heap_block(i) = (struct ip_heap_block){
            .addr = addr, .size = size, .kind = p->meta ? IP_AK_METAPOOL : IP_AK_POOL, .state = IP_HB_LIVE};
        chunk_add(p, i);
        heap_note_new(i, size, &t);
    }
    rt_unlock(&heap_lock);
    if (i) heap_set_with_red_zones(addr, size, redzone, zeroed ? RT_SH_DEFINED : RT_SH_UNDEFINED);
}

/* A chunk that is the program's no longer; remembered, as freed blocks are. */
static void retire(struct pool *p, u32 i, const struct heap_trace *t) {
    struct ip_heap_block *b = heap_block(i);
    chunk_remove(p, i);
    heap_hook_state(b->addr, b->size, RT_SH_NOACCESS);
    if (t->n) b->free_ctx = heap_ctx(t->frames, t->n);
    heap_count(b->free_ctx, b->size, true);
    heap_block_retire(i);
}

static void release(struct tstate *ts, u64 anchor, u64 addr) {
    struct heap_trace t;
    heap_take_trace(ts, &t, IP_C_KEEP_FREE_STACK);
    struct pool *p = lock_pool(ts, anchor);
    if (!p) return;
    u32 i = chunk_of(p, addr);
    if (i) {
        if (p->auto_free) heap_custom_release(addr, addr + heap_block(i)->size, &t);
        retire(p, i, &t);
    }
    rt_unlock(&heap_lock);
    if (!i) error(ts, IP_E_FREE, addr);
}

/* Only what lies in [lo, lo + size) stays of the chunks.  A chunk that begins before that and ends behind it goes as
 * a whole, as under Valgrind: neither of its ends stays. */
static void trim(struct tstate *ts, u64 anchor, u64 lo, u64 size) {
    struct heap_trace t;
    heap_take_trace(ts, &t, IP_C_KEEP_FREE_STACK);
    struct pool *p = lock_sound_pool(ts, anchor, ~0u);
    if (!p) return;
    u64 hi = lo + heap_fitting(lo, size);
    for (u32 i = p->chunks, next; i; i = next) {
        struct ip_heap_block *b = heap_block(i);
        u64 end = b->addr + b->size, last = b->size ? end - 1 : end;
        bool first_stays = b->addr >= lo && b->addr < hi, last_stays = last >= lo && last < hi;
        next = pooled(i)->after;
        if (first_stays && last_stays) continue;
        if (!first_stays && !last_stays) {
            retire(p, i, &t);
        } else if (first_stays) {
            b->size = hi - b->addr;
            heap_hook_state(hi, end - hi, RT_SH_NOACCESS);
        } else {
            u64 was = b->addr;
            chunk_remove(p, i);
            b->addr = lo;
            b->size = end - lo;
            chunk_add(p, i);
            heap_hook_state(was, lo - was, RT_SH_NOACCESS);
        }
    }
    unlock_sound_pool(ts, p, ~0u);
}

static void move(struct tstate *ts, u64 from, u64 to) {
    struct pool *p = lock_pool(ts, from);
    if (!p) return;
    chain_remove(&by_anchor, p->number, hash_pool, next_pool);
    p->anchor = to;
    chain_add(&by_anchor, p->number, hash_pool, next_pool);
    rt_unlock(&heap_lock);
}

/* The chunk at from is now one of so many bytes at to.  What its bytes are stays as it is: the program says so by
 * other requests, as under Valgrind. */
static void change(struct tstate *ts, u64 anchor, u64 from, u64 to, u64 size) {
    struct pool *p = lock_sound_pool(ts, anchor, LOOK_MAX);
    if (!p) return;
    u32 i = chunk_of(p, from);
    if (i) {
        struct ip_heap_block *b = heap_block(i);
        chunk_remove(p, i);
        b->addr = to;
        b->size = heap_fitting(to, size);
        chunk_add(p, i);
        unlock_sound_pool(ts, p, LOOK_MAX);
        return;
    }
    rt_unlock(&heap_lock);
    error(ts, IP_E_FREE, from);
}

static bool exists(u64 anchor) {
    heap_lock_all();
    bool found = pool_of(anchor) != NULL;
    rt_unlock(&heap_lock);
    return found;
}

bool heap_has_chunks(void) { return by_place.cap; }

u32 heap_chunk_at(u64 addr) {
    u32 best = 0;
    for (u32 k = 0; k < by_place.cap; k++)
        for (u32 i = by_place.heads[k]; i; i = *next_chunk(i)) {
            const struct ip_heap_block *b = heap_block(i);
            if (addr - b->addr < b->size && (!best || b->size < heap_block(best)->size)) best = i;
        }
    return best;
}

bool rt_heap_pool(struct tstate *ts, u64 code, const u64 a[5], u64 *result) {
    switch (code) {
    case INTERPOSE_RQ_CREATE_MEMPOOL: create(ts, a[0], a[1], a[2] != 0, a[3]); return true;
    case INTERPOSE_RQ_DESTROY_MEMPOOL: destroy(ts, a[0]); return true;
    case INTERPOSE_RQ_MEMPOOL_ALLOC: alloc(ts, a[0], a[1], a[2]); return true;
    case INTERPOSE_RQ_MEMPOOL_FREE: release(ts, a[0], a[1]); return true;
    case INTERPOSE_RQ_MEMPOOL_TRIM: trim(ts, a[0], a[1], a[2]); return true;
    case INTERPOSE_RQ_MOVE_MEMPOOL: move(ts, a[0], a[1]); return true;
    case INTERPOSE_RQ_MEMPOOL_CHANGE: change(ts, a[0], a[1], a[2], a[3]); return true;
    case INTERPOSE_RQ_MEMPOOL_EXISTS: *result = exists(a[0]); return true;
    default: return false;
    }
}
