/* Address space of the heap: arenas from the memory manager, cut into runs of
 * 64 KiB units, and a two-level map from unit to span. */
#include "runtime/memory/memory.h"
#include "heap/heap.h"
#include "heap/heap_hooks.h"
#include "runtime/hooks.h"

#define NR_mmap       9
#define NR_madvise    28
#define PROT_RW       3
#define MAP_FRESH     0x32 /* private, anonymous, fixed: as rt_map_client maps */
#define MADV_DONTNEED 4
#define MADV_HUGEPAGE 14
#define ARENA_MIN     (4ull << 20)
#define ARENA_MAX     (64ull << 20)
#define SPANS_CHUNK   1024
#define KEPT          8
#define KEPT_MOST     (2ull << 20) /* bytes of one */
#define KEPT_IN_ALL   (4ull << 20)
/* Blocks from here on ask for huge pages (docs/measurements.md, point 32), and this much in all: so much more, at the
 * most, does a program have that touches one byte in many. */
#define HUGE_MIN  (4ull << 20)
#define HUGE_MOST (256ull << 20)

_Static_assert(IP_CLIENT_END == 1ull << (HEAP_LEAF_BITS + HEAP_TOP_BITS + 16), "unit map covers the client");

struct run {
    u64 lo, hi;
};

rt_lock_t heap_lock;
struct ip_heap_table *heap_table;
bool heap_is_plain;

struct ip_heap_span **heap_unit_map[1 << HEAP_TOP_BITS];
static struct ip_heap_span *span_free, *fresh, *fresh_end; /* those given back, linked through .next; never used */
static struct run *runs;                                   /* free, sorted, never adjacent */
static u32 n_runs, cap_runs;
/* Where spans of one block were that were given back last, with their memory as it was: a program that wants one next
 * has no fault for each page. */
static struct run kept[KEPT];
static u32 next_kept;
static u64 kept_bytes;
static u64 next_arena = ARENA_MIN;
static u64 in_spans, in_huge; /* bytes */

void heap_pages_init(void) {
    heap_table = rt_pages(sizeof *heap_table);
    heap_table->version = IP_ABI_VERSION;
    heap_table->block_bytes = sizeof(struct ip_heap_block);
    heap_table->n_blocks = 1;
    heap_table->unit_map = (u64)heap_unit_map;
    rt.chan->rt_symbols[IP_SYM_HEAP_TABLE] = (u64)heap_table;
    heap_is_plain = !(rt.flags & (IP_C_NO_CHAIN | IP_C_HEAP_COUNTS | IP_C_SHOW_HEAP)) &&
                    (rt.chan->malloc_fill & rt.chan->free_fill) == -1;
}

static struct ip_heap_span *span_take(void) {
    struct ip_heap_span *s = span_free;
    if (s) {
        span_free = s->next;
    } else {
        if (fresh == fresh_end) {
            fresh = rt_pages(SPANS_CHUNK * sizeof *fresh);
            fresh_end = fresh + SPANS_CHUNK;
        }
        s = fresh++;
    }
    *s = (struct ip_heap_span){0};
    return s;
}

static void map_units(u64 lo, u64 hi, struct ip_heap_span *s) {
    for (u64 u = lo / HEAP_UNIT; u < hi / HEAP_UNIT; u++) {
        struct ip_heap_span ***leaf = &heap_unit_map[u >> HEAP_LEAF_BITS];
        if (!*leaf) *leaf = rt_pages(sizeof **leaf << HEAP_LEAF_BITS);
        (*leaf)[u & ((1 << HEAP_LEAF_BITS) - 1)] = s;
    }
}

static void run_insert(u64 lo, u64 hi) {
    u32 at = 0, end = n_runs;
    while (at < end) { /* first run above lo */
        u32 mid = (at + end) / 2;
        if (runs[mid].lo < lo)
            at = mid + 1;
        else
            end = mid;
    }
    bool left = at && runs[at - 1].hi == lo, right = at < n_runs && runs[at].lo == hi;
    if (left && right) {
        runs[at - 1].hi = runs[at].hi;
        n_runs--;
        for (u32 i = at; i < n_runs; i++) runs[i] = runs[i + 1];
    } else if (left) {
        runs[at - 1].hi = hi;
    } else if (right) {
        runs[at].lo = lo;
    } else {
        if (n_runs == cap_runs) {
            u32 cap = cap_runs ? cap_runs * 2 : 512;
            struct run *p = rt_pages(cap * sizeof *p);
            for (u32 i = 0; i < n_runs; i++) p[i] = runs[i];
            if (runs) rt_free_pages(runs, cap_runs * sizeof *p);
            runs = p;
            cap_runs = cap;
        }
        for (u32 i = n_runs++; i > at; i--) runs[i] = runs[i - 1];
        runs[at] = (struct run){lo, hi};
    }
}

static bool arena_new(u64 bytes) {
    struct ip_heap_table *t = heap_table;
    if (t->n_arenas == sizeof t->arena_lo / sizeof t->arena_lo[0]) return false;
    u64 len = bytes + HEAP_UNIT > next_arena ? bytes + HEAP_UNIT : next_arena;
    u64 lo = rt_map_client(0, len, 3);
    if (!lo || lo > IP_CLIENT_END) {
        len = bytes + HEAP_UNIT; /* an address-space limit may allow this much */
        lo = rt_map_client(0, len, 3);
        if (!lo || lo > IP_CLIENT_END) return false;
    }
    if (next_arena < ARENA_MAX) next_arena *= 2;
    t->arena_lo[t->n_arenas] = lo;
    t->arena_hi[t->n_arenas] = lo + len;
    __atomic_store_n(&t->n_arenas, t->n_arenas + 1, __ATOMIC_RELEASE);
    rt_hook_mapped(lo, len, RT_SH_NOACCESS);
    run_insert(RT_ROUND_UP(lo, HEAP_UNIT), RT_ROUND_DOWN(lo + len, HEAP_UNIT));
    return true;
}

static void want_huge(struct ip_heap_span *s, u64 bytes) {
    if (bytes < HUGE_MIN || in_huge + bytes > HUGE_MOST) return;
    if (sys3(NR_madvise, (long)s->lo, (long)bytes, MADV_HUGEPAGE) != 0) return;
    s->n_free = IP_HEAP_HUGE;
    in_huge += bytes;
}

/* What lies there next does not ask for huge pages, nor against them, and is one with its neighbours: only a new
 * mapping is as it was. */
static void drop_pages(u64 lo, u64 bytes, bool changed) {
    if (changed && sys6(NR_mmap, (long)lo, (long)bytes, PROT_RW, MAP_FRESH, -1, 0) == (long)lo) return;
    sys3(NR_madvise, (long)lo, (long)bytes, MADV_DONTNEED);
}

static struct ip_heap_span *span_at(u64 lo, u64 bytes) {
    struct ip_heap_span *s = span_take();
    s->lo = lo;
    s->units = bytes / HEAP_UNIT;
    map_units(lo, heap_span_end(s), s);
    in_spans += bytes;
    heap_grown(in_spans);
    return s;
}

/* What is kept goes where all free memory is.  Was there anything? */
static bool let_go(struct run *k) {
    u64 bytes = k->hi - k->lo;
    if (!bytes) return false;
    drop_pages(k->lo, bytes, false);
    run_insert(k->lo, k->hi);
    kept_bytes -= bytes;
    k->hi = k->lo;
    return true;
}

static bool keep_nothing(void) {
    bool any = false;
    for (struct run *k = kept; k < kept + KEPT; k++) any |= let_go(k);
    return any;
}

/* One that it borders on grows: sizes that change serve each other. */
static bool joins(u64 lo, u64 hi) {
    for (struct run *k = kept; k < kept + KEPT; k++) {
        if (k->lo == k->hi || k->hi - k->lo + hi - lo > KEPT_MOST || (k->hi != lo && k->lo != hi)) continue;
        *(k->hi == lo ? &k->hi : &k->lo) = k->hi == lo ? hi : lo;
        return true;
    }
    return false;
}

static void keep(u64 lo, u64 hi) {
    for (u32 i = 0; i < KEPT && kept_bytes + hi - lo > KEPT_IN_ALL; i++) let_go(&kept[next_kept++ % KEPT]);
    if (!joins(lo, hi)) {
        struct run *k = &kept[next_kept++ % KEPT];
        let_go(k);
        *k = (struct run){lo, hi};
    }
    kept_bytes += hi - lo;
}

struct ip_heap_span *heap_span_again(u64 bytes) {
    struct run *best = NULL;
    bytes = RT_ROUND_UP(bytes, HEAP_UNIT);
    for (struct run *k = kept; k < kept + KEPT; k++)
        if (k->hi - k->lo >= bytes && (!best || k->hi - k->lo < best->hi - best->lo)) best = k;
    if (!best) return NULL;
    u64 lo = best->lo;
    best->lo += bytes;
    kept_bytes -= bytes;
    return span_at(lo, bytes);
}

struct ip_heap_span *heap_span_new(u64 bytes) {
    bytes = RT_ROUND_UP(bytes, HEAP_UNIT);
    do {
        for (u32 i = 0; i < n_runs; i++) {
            if (runs[i].hi - runs[i].lo < bytes) continue;
            u64 lo = runs[i].lo;
            runs[i].lo += bytes;
            if (runs[i].lo == runs[i].hi) {
                n_runs--;
                for (; i < n_runs; i++) runs[i] = runs[i + 1];
            }
            struct ip_heap_span *s = span_at(lo, bytes);
            want_huge(s, bytes);
            return s;
        }
    } while (keep_nothing() || arena_new(bytes));
    return NULL;
}

void heap_span_free(struct ip_heap_span *s) {
    u64 hi = heap_span_end(s), bytes = hi - s->lo;
    u32 was = s->stride ? 0 : s->n_free;
    if (s->alike) heap_hook_end_alike(s->lo, bytes);
    map_units(s->lo, hi, NULL);
    in_spans -= bytes;
    if (was & IP_HEAP_HUGE) in_huge -= bytes;
    if (!s->stride && bytes <= KEPT_MOST) {
        keep(s->lo, hi);
    } else {
        drop_pages(s->lo, bytes, was != 0);
        run_insert(s->lo, hi);
    }
    s->n = 0;
    s->next = span_free;
    span_free = s;
}

/* RESIZEINPLACE_BLOCK may have made a block longer than its place. */
static bool is_alone(u64 addr, u64 bytes) {
    const struct ip_heap_span *s = heap_span_of(addr);
    return s && !s->stride && heap_span_end(s) - addr >= bytes;
}

/* Not of spans that may be kept: the kernel cannot join a moved mapping with its neighbours again, and knows 65,530. */
void heap_move_pages(u64 to, u64 from, u64 bytes, u64 *lo, u64 *hi) {
    u64 head = -from & (RT_PAGE - 1), whole = bytes > head ? RT_ROUND_DOWN(bytes - head, RT_PAGE) : 0;
    *lo = *hi = 0;
    if (whole <= KEPT_MOST || (to - from) % RT_PAGE) return;
    rt_lock(&heap_lock);
    if (is_alone(from, bytes) && is_alone(to, bytes) && rt_move_pages(to + head, from + head, whole)) {
        heap_span_of(to)->n_free |= IP_HEAP_MOVED;
        *lo = head, *hi = head + whole;
    }
    rt_unlock(&heap_lock);
}

/* Arenas only come, and each is complete before it is counted: no lock. */
void heap_keep_out(u64 addr, u64 *lo, u64 *hi) {
    const struct ip_heap_table *t = heap_table;
    u64 n = t ? __atomic_load_n(&t->n_arenas, __ATOMIC_ACQUIRE) : 0;
    for (u64 i = 0; i < n; i++) {
        if (t->arena_hi[i] <= addr && t->arena_hi[i] > *lo) *lo = t->arena_hi[i];
        if (t->arena_lo[i] > addr && t->arena_lo[i] < *hi) *hi = t->arena_lo[i];
    }
}
