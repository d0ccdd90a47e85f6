/* Heap blocks: records, size classes, quarantine. */
#include <asm/unistd.h>
#include <linux/mman.h>
#include <linux/time.h>

#include "heap/heap_cells.h"

#define HUGE_DEAR 1000 /* microseconds */

struct heap_class heap_classes[HEAP_CLASSES];
struct heap_fifo heap_waiting, heap_waiting_big;
static u32
    spare_records[32]; /* rows of so many and more, by log2: linked through .next of the first, .size says how many */
static u32 record_free, pooled_free; /* linked through .next */

/* Client-defined blocks: open addressing, linear probing; 0 free, 1 deleted. */
static u32 *custom;
static u32 custom_cap, custom_used;
bool heap_has_resized;

u32 heap_block_next_live(u32 i) {
    while (++i < heap_table->n_blocks)
        if (heap_table->chunks[i / IP_HEAP_CHUNK] && heap_block(i)->state == IP_HB_LIVE) return i;
    return 0;
}

static u32 log2_of(u32 n) { return 31 - (u32)__builtin_clz(n); }

/* n records in a row, that are not needed now. */
static void spare(u32 first, u32 n) {
    if (!n) return;
    u32 *head = &spare_records[log2_of(n)];
    *heap_block(first) = (struct ip_heap_block){.size = n, .next = *head};
    *head = first;
}

/* Records for a program with many blocks, which meets them at random: present from the start, and behind one entry of
 * the TLB where the kernel has huge pages and they are cheap.  A hypervisor that was told of free memory takes it back,
 * and then one takes 3,700 microseconds in place of 100; the small pages in its place take 700. */
static u64 chunk_of_many(u64 bytes) {
    static bool dear;
    u64 lo = (u64)rt_pages(2 * bytes), at = RT_ROUND_UP(lo, bytes);
    if (at > lo) rt_free_pages((void *)lo, at - lo);
    if (at < lo + bytes) rt_free_pages((void *)(at + bytes), lo + bytes - at);
    if (!dear) sys3(__NR_madvise, (long)at, (long)bytes, MADV_HUGEPAGE);
    u64 from = heap_processor_time(CLOCK_THREAD_CPUTIME_ID);
    sys3(__NR_madvise, (long)at, (long)bytes, MADV_POPULATE_WRITE);
    if (heap_processor_time(CLOCK_THREAD_CPUTIME_ID) - from > HUGE_DEAR) dear = true;
    return at;
}

/* n records in a row (in one chunk). */
static u32 records(u32 n) {
    struct ip_heap_table *t = heap_table;
    for (u32 k = log2_of(n); k < sizeof spare_records / sizeof *spare_records; k++) {
        u32 first = spare_records[k];
        if (!first || heap_block(first)->size < n) continue;
        u32 more = (u32)heap_block(first)->size - n;
        spare_records[k] = heap_block(first)->next;
        heap_block(first)->next = 0;
        spare(first + n, more);
        return first;
    }
    u64 first = t->n_blocks;
    if (first % IP_HEAP_CHUNK + n > IP_HEAP_CHUNK) first = RT_ROUND_UP(first, IP_HEAP_CHUNK);
    u64 chunk = first / IP_HEAP_CHUNK;
    if (chunk >= IP_HEAP_CHUNKS) return 0;
    if (!t->chunks[chunk]) {
        u64 bytes = IP_HEAP_CHUNK * sizeof(struct ip_heap_block);
        t->chunks[chunk] = chunk ? chunk_of_many(bytes) : (u64)rt_pages(bytes);
    }
    t->n_blocks = first + n;
    return (u32)first;
}

static u32 *free_list(bool pooled) { return pooled ? &pooled_free : &record_free; }

u32 heap_record_new(bool pooled) {
    u32 *head = free_list(pooled), i = *head;
    if (!i) return records(pooled ? 2 : 1);
    *head = heap_block(i)->next;
    heap_block(i)->next = 0;
    return i;
}

void heap_record_free(u32 i) {
    struct ip_heap_block *b = heap_block(i);
    u32 *head = free_list(b->kind >= IP_AK_POOL);
    b->state = IP_HB_UNUSED;
    b->next = *head;
    *head = i;
}

/* A class that has filled a span will fill the next: its pages in one call, and not in a fault each.  Where the kernel
 * does not know how (before Linux 5.14), or will not, they come one by one. */
static void make_present(const struct ip_heap_span *s) {
    u64 bytes = heap_span_end(s) - s->lo;
    sys3(__NR_madvise, (long)s->lo, (long)bytes, MADV_POPULATE_WRITE);
    heap_hook_span(s->lo, bytes);
}

static bool span_of_cells(u32 c, u64 stride) {
    struct ip_heap_span *s = heap_span_new(stride <= 2048 ? HEAP_UNIT : 4 * HEAP_UNIT);
    if (!s) return false;
    s->stride = (u32)stride;
    s->inverse = (u32)(((1ull << HEAP_INVERSE) + stride - 1) / stride);
    s->size_class = (u8)c;
    s->n = (u16)((heap_span_end(s) - s->lo) / stride);
    s->first = records(s->n);
    if (!s->first) {
        heap_span_free(s);
        return false;
    }
    s->records = heap_block(s->first);
    if (heap_classes[c].grown) make_present(s);
    heap_classes[c].grown = true;
    heap_offer(&heap_classes[c], s);
    heap_span_made(s);
    return true;
}

void heap_span_empty(struct ip_heap_span *s) {
    heap_withdraw(&heap_classes[s->size_class], s);
    spare(s->first, s->n);
    heap_span_free(s);
}

void heap_recycle(u32 i) {
    const struct ip_heap_block *b = heap_block(i);
    struct ip_heap_span *s = b->kind >= IP_AK_CUSTOM ? NULL : heap_span_of(b->addr);
    if (s) heap_span_free(s);
    heap_record_free(i);
}

/* A block with a span of its own. */
static u32 big_block(u64 bytes, u64 *at, bool *zeroed) {
    u32 i = heap_record_new(false);
    if (!i) return 0;
    struct ip_heap_span *s = heap_span_again(bytes);
    *zeroed = !s;
    if (!s) s = heap_span_new(bytes);
    if (!s) {
        heap_record_free(i);
        return 0;
    }
    s->n = s->used = 1;
    s->first = i;
    s->records = heap_block(i);
    heap_span_made(s);
    *at = s->lo;
    return i;
}

u32 heap_block_new(u64 size, u64 align, int kind, bool *zeroed) {
    u64 asked = align, at, stride;
    u32 i;
    heap_trim_quarantine();
    if (align < heap_alignment()) align = heap_alignment();
    if (size > IP_CLIENT_END) return 0;
    u64 bytes = heap_cell_bytes(size, align);
    *zeroed = false;
    if (bytes > HEAP_SMALL) {
        i = big_block(bytes, &at, zeroed);
        if (!i) return 0;
    } else {
        u32 c = heap_class_of(bytes, &stride);
        if (!heap_classes[c].spans && !span_of_cells(c, stride)) return 0;
        heap_cell_take(&heap_classes[c], &at, &i);
    }
    heap_block_fill(heap_block(i), RT_ROUND_UP(at + heap_redzone(), align), size, kind, asked);
    return i;
}

void heap_block_retire(u32 i) {
    struct ip_heap_block *b = heap_block(i);
    struct ip_heap_span *s = heap_span_of(b->addr);
    if (s) s->swept = false;
    heap_retire(i, b);
}

/* Record of the cell that addr lies in; 0 outside the heap. */
static u32 cell_of(u64 addr, struct ip_heap_span **span) {
    const struct ip_heap_block *b = heap_cell_of(addr, span);
    return b ? heap_index(*span, b) : 0;
}

u32 heap_block_exact(u64 addr) {
    struct ip_heap_span *s;
    const struct ip_heap_block *b = heap_cell_exact(addr, &s);
    return b ? heap_index(s, b) : 0;
}

u64 heap_block_room(u32 i) {
    struct ip_heap_span *s;
    u64 addr = heap_block(i)->addr;
    u32 cell = cell_of(addr, &s);
    if (!cell) return 0;
    return (s->stride ? s->lo + (u64)(cell - s->first + 1) * s->stride : heap_span_end(s)) - addr;
}

static u32 custom_slot(u64 addr) { return (u32)((addr >> 3) * 0x9e3779b1u) & (custom_cap - 1); }

/* GObject declares a block in each of its objects, so a search through all of them must be rare: where none begins in
 * the cell of an address, the cell says what is to be known. */
static void cell_holds(u64 addr, int more) {
    struct ip_heap_span *s;
    u32 cell = cell_of(addr, &s);
    if (!cell) return;
    struct ip_heap_block *b = heap_block(cell);
    if (b->holds == IP_HB_MANY || (more < 0 && !b->holds)) return;
    b->holds = (u8)(b->holds + more);
}

static void custom_put(u32 index) {
    if (custom_used * 2 >= custom_cap) {
        u32 old_cap = custom_cap, *old = custom;
        custom_cap = old_cap ? old_cap * 2 : 1024;
        custom = rt_pages(custom_cap * sizeof *custom);
        custom_used = 0;
        for (u32 k = 0; k < old_cap; k++)
            if (old[k] > 1) custom_put(old[k] - 1);
        if (old) rt_free_pages(old, old_cap * sizeof *old);
    }
    u32 k = custom_slot(heap_block(index)->addr);
    while (custom[k] > 1) k = (k + 1) & (custom_cap - 1);
    custom_used += custom[k] == 0;
    custom[k] = index + 1;
}

void heap_custom_add(u32 index) {
    heap_table->has_others = 1;
    custom_put(index);
    cell_holds(heap_block(index)->addr, 1);
}

u32 heap_custom_find(u64 addr, bool remove) {
    if (!custom_cap) return 0;
    for (u32 k = custom_slot(addr); custom[k]; k = (k + 1) & (custom_cap - 1)) {
        u32 i = custom[k] - 1;
        if (custom[k] > 1 && heap_block(i)->addr == addr) {
            if (remove) {
                custom[k] = 1;
                cell_holds(addr, -1);
            }
            return i;
        }
    }
    return 0;
}

u32 heap_custom_take(u64 lo, u64 hi, u32 *at) {
    for (; *at < custom_cap; ++*at) {
        if (custom[*at] <= 1) continue;
        u32 i = custom[*at] - 1;
        const struct ip_heap_block *b = heap_block(i);
        if (b->addr < lo || b->addr > hi || b->size > hi - b->addr) continue;
        custom[*at] = 1;
        cell_holds(b->addr, -1);
        return i;
    }
    return 0;
}

bool heap_block_at(u64 addr, u64 *lo, u64 *size) {
    struct ip_heap_span *s;
    bool found = false;
    if (!heap_table) return false;
    rt_lock(&heap_lock);
    u32 i = cell_of(addr, &s);
    if (i) {
        struct ip_heap_block *b = heap_block(i);
        found = b->state == IP_HB_LIVE && addr - b->addr < b->size;
        *lo = b->addr;
        *size = b->size;
    }
    rt_unlock(&heap_lock);
    return found;
}

/* 0 inside, else the distance; live blocks win over freed ones at equal distance. */
static void consider(u32 i, u64 addr, u32 *best, u64 *best_rank) {
    const struct ip_heap_block *b = heap_block(i);
    if (b->state != IP_HB_LIVE && b->state != IP_HB_QUARANTINE) return;
    u64 d = addr < b->addr                                              ? b->addr - addr
            : addr - b->addr < b->size || (!b->size && addr == b->addr) ? 0
                                                                        : addr - b->addr - b->size + 1;
    u64 rank = d * 2 + (b->state != IP_HB_LIVE);
    if (rank < *best_rank) {
        *best = i;
        *best_rank = rank;
    }
}

static u32 describe(u64 addr) {
    u32 best = 0, chunk = heap_chunk_at(addr);
    u64 rank = ~0ull;
    struct ip_heap_span *s;
    if (chunk && heap_block(chunk)->kind != IP_AK_METAPOOL) return chunk;
    for (u32 k = 0; k < custom_cap; k++)
        if (custom[k] > 1) consider(custom[k] - 1, addr, &best, &rank);
    if (chunk) return !rank && heap_block(best)->size < heap_block(chunk)->size ? best : chunk; /* one in it */
    if (rank > 2 * 64) {
        best = 0;
        rank = ~0ull;
    }
    if (heap_span_of(addr)) {
        u32 i = cell_of(addr, &s);
        u32 last = s->first + s->used - 1;
        if (!i) i = last;
        for (u32 k = i > s->first ? i - 1 : i; k <= i + 1 && k <= last; k++) consider(k, addr, &best, &rank);
    }
    return best;
}

u32 heap_describe(u64 addr) {
    if (!heap_table) return 0;
    rt_lock(&heap_lock);
    u32 i = describe(addr);
    rt_unlock(&heap_lock);
    return i;
}

const struct ip_heap_block *heap_plain_block(u64 addr) {
    struct ip_heap_span *s;
    if (!heap_table || heap_has_resized || heap_has_chunks()) return NULL;
    const struct ip_heap_block *b = heap_cell_of(addr, &s);
    if (!b || b->holds || addr - b->addr >= b->size) return NULL;
    return b->state == IP_HB_LIVE || b->state == IP_HB_QUARANTINE ? b : NULL;
}

bool heap_allocated_by(u64 addr, u32 *ctx, u64 *end) {
    u32 i;
    *end = addr + 1;
    if (!heap_table) return false;
    const struct ip_heap_block *b = heap_plain_block(addr);
    if (b) {
        *end = b->addr + b->size;
    } else {
        if (!(i = describe(addr))) return false;
        b = heap_block(i);
        if (addr - b->addr >= b->size) return false;
    }
    *ctx = b->alloc_ctx;
    return true;
}
