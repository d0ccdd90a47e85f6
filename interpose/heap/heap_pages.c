/* Address space of the heap: arenas from the memory manager, cut into runs of
 * 64 KiB units, and a two-level map from unit to span. */
#include "runtime/memory/memory.h"
#include "heap/heap.h"
#include "runtime/hooks.h"

#define NR_madvise    28
#define MADV_DONTNEED 4
#define ARENA_MIN     (4ull << 20)
#define ARENA_MAX     (64ull << 20)
#define LEAF_BITS     14
#define TOP_BITS      15 /* 45-bit client addresses, 16-bit units */
#define SPANS_CHUNK   1024
#define SPANS_CHUNKS  16384

_Static_assert(IP_CLIENT_END == 1ull << (LEAF_BITS + TOP_BITS + 16), "unit map covers the client");

struct run {
    u64 lo, hi;
};

rt_lock_t heap_lock;
struct ip_heap_table *heap_table;

static u32 *unit_map[1 << TOP_BITS]; /* span number, 0 none */
static struct heap_span *span_chunks[SPANS_CHUNKS];
static u32 n_spans = 1, span_free; /* free numbers linked through .first */
static struct run *runs;           /* free, sorted, never adjacent */
static u32 n_runs, cap_runs;
static u64 next_arena = ARENA_MIN;

void heap_pages_init(void) {
    heap_table = rt_pages(sizeof *heap_table);
    heap_table->version = IP_ABI_VERSION;
    heap_table->block_bytes = sizeof(struct ip_heap_block);
    heap_table->n_blocks = 1;
    rt.chan->rt_symbols[IP_SYM_HEAP_TABLE] = (u64)heap_table;
}

static struct heap_span *span_at(u32 number) { return &span_chunks[number / SPANS_CHUNK][number % SPANS_CHUNK]; }

static struct heap_span *span_take(void) {
    u32 number = span_free;
    if (number) {
        span_free = span_at(number)->first;
    } else {
        number = n_spans++;
        if (number >= SPANS_CHUNK * SPANS_CHUNKS) rt_die("the heap has too many spans (%u)", number);
        if (!span_chunks[number / SPANS_CHUNK])
            span_chunks[number / SPANS_CHUNK] = rt_pages(SPANS_CHUNK * sizeof(struct heap_span));
    }
    struct heap_span *s = span_at(number);
    *s = (struct heap_span){.number = number};
    return s;
}

static void map_units(u64 lo, u64 hi, u32 number) {
    for (u64 u = lo / HEAP_UNIT; u < hi / HEAP_UNIT; u++) {
        u32 **leaf = &unit_map[u >> LEAF_BITS];
        if (!*leaf) *leaf = rt_pages(sizeof(u32) << LEAF_BITS);
        (*leaf)[u & ((1 << LEAF_BITS) - 1)] = number;
    }
}

struct heap_span *heap_span_of(u64 addr) {
    u64 u = addr / HEAP_UNIT;
    if (addr >= IP_CLIENT_END || !unit_map[u >> LEAF_BITS]) return NULL;
    u32 number = unit_map[u >> LEAF_BITS][u & ((1 << LEAF_BITS) - 1)];
    return number ? span_at(number) : NULL;
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

struct heap_span *heap_span_new(u64 bytes) {
    bytes = RT_ROUND_UP(bytes, HEAP_UNIT);
    for (int attempt = 0; attempt < 2; attempt++) {
        for (u32 i = 0; i < n_runs; i++) {
            if (runs[i].hi - runs[i].lo < bytes) continue;
            struct heap_span *s = span_take();
            s->lo = runs[i].lo;
            s->hi = s->lo + bytes;
            runs[i].lo += bytes;
            if (runs[i].lo == runs[i].hi) {
                n_runs--;
                for (; i < n_runs; i++) runs[i] = runs[i + 1];
            }
            map_units(s->lo, s->hi, s->number);
            return s;
        }
        if (!arena_new(bytes)) return NULL;
    }
    return NULL;
}

void heap_span_free(struct heap_span *s) {
    sys3(NR_madvise, (long)s->lo, (long)(s->hi - s->lo), MADV_DONTNEED);
    map_units(s->lo, s->hi, 0);
    run_insert(s->lo, s->hi);
    s->first = span_free;
    s->n = 0;
    span_free = s->number;
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
