/* Heap blocks: records, size classes, quarantine.
 *
 * A cell is: red zone, payload, red zone.  A payload's V bits are 0xff whenever
 * nobody owns it (fresh or freed), so allocation only has to clear A bits.
 */
#include <asm/unistd.h>
#include <linux/mman.h>

#include "heap/heap.h"
#include "heap/heap_hooks.h"

#define CELL       16ull
#define LINEAR_MAX 1024ull       /* classes of 16 bytes up to here */
#define SMALL_MAX  (32ull << 10) /* then eight classes for each doubling */
#define N_LINEAR   (LINEAR_MAX / CELL + 1)
#define N_CLASSES  (N_LINEAR + 5 * 8)

struct fifo {
    u32 head, tail;
};

/* The spans of a class that have cells to give, the one used last first; and one of them that is wholly empty, which
 * is kept so that a program at the edge of a span does not give and take it all the time. */
static struct {
    struct heap_span *spans, *empty;
    bool grown; /* it has had one */
} classes[N_CLASSES];
static u32
    spare_records[32]; /* rows of so many and more, by log2: linked through .next of the first, .size says how many */
static struct fifo waiting, waiting_big; /* quarantine, linked through .next */
static u32 record_free;

/* Client-defined blocks: open addressing, linear probing; 0 free, 1 deleted. */
static u32 *custom;
static u32 custom_cap, custom_used;
bool heap_has_custom;

struct ip_heap_block *heap_block(u32 i) {
    return (struct ip_heap_block *)heap_table->chunks[i / IP_HEAP_CHUNK] + i % IP_HEAP_CHUNK;
}

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
        t->chunks[chunk] = (u64)rt_pages(bytes);
        if (chunk) sys3(__NR_madvise, (long)t->chunks[chunk], (long)bytes, MADV_POPULATE_WRITE);
    }
    t->n_blocks = first + n;
    return (u32)first;
}

u32 heap_record_new(void) {
    u32 i = record_free;
    if (!i) return records(1);
    record_free = heap_block(i)->next;
    heap_block(i)->next = 0;
    return i;
}

void heap_record_free(u32 i) {
    struct ip_heap_block *b = heap_block(i);
    b->state = IP_HB_UNUSED;
    b->next = record_free;
    record_free = i;
}

static u64 redzone(void) {
    u64 rz = RT_ROUND_UP(rt.chan->redzone, CELL);
    return rz;
}

/* Class of a cell of `bytes` (a multiple of CELL), and its size. */
static u32 class_of(u64 bytes, u64 *stride) {
    if (bytes <= LINEAR_MAX) {
        *stride = bytes;
        return (u32)(bytes / CELL);
    }
    u32 top = 63 - (u32)__builtin_clzll(bytes - 1); /* 2^top < bytes <= 2^(top+1) */
    u64 step = 1ull << (top - 3);
    u64 up = RT_ROUND_UP(bytes, step);
    *stride = up;
    return (u32)(N_LINEAR + (top - 10) * 8 + (up - (1ull << top)) / step - 1);
}

static void offer(u32 c, struct heap_span *s) {
    s->before = NULL;
    s->next = classes[c].spans;
    if (s->next) s->next->before = s;
    classes[c].spans = s;
}

static void withdraw(u32 c, struct heap_span *s) {
    if (s->next) s->next->before = s->before;
    if (s->before)
        s->before->next = s->next;
    else
        classes[c].spans = s->next;
}

/* A class that has filled a span will fill the next: its pages in one call, and not in a fault each.  Where the kernel
 * does not know how (before Linux 5.14), or will not, they come one by one. */
static void make_present(const struct heap_span *s) {
    sys3(__NR_madvise, (long)s->lo, (long)(s->hi - s->lo), MADV_POPULATE_WRITE);
    heap_hook_span(s->lo, s->hi - s->lo);
}

static struct heap_span *span_of_cells(u32 c, u64 stride) {
    struct heap_span *s = heap_span_new(stride <= 2048 ? HEAP_UNIT : 4 * HEAP_UNIT);
    if (!s) return NULL;
    s->stride = stride;
    s->n = (u32)((s->hi - s->lo) / stride);
    s->first = records(s->n);
    if (!s->first) {
        heap_span_free(s);
        return NULL;
    }
    if (classes[c].grown) make_present(s);
    classes[c].grown = true;
    offer(c, s);
    return s;
}

static u32 cell_new(u64 bytes, u64 *at) {
    u64 stride;
    u32 c = class_of(bytes, &stride), i;
    struct heap_span *s = classes[c].spans;
    if (!s && !(s = span_of_cells(c, stride))) return 0;
    if ((i = s->free)) {
        s->free = heap_block(i)->next;
        s->n_free--;
    } else {
        i = s->first + s->used++;
    }
    if (s == classes[c].empty) classes[c].empty = NULL;
    if (!s->free && s->used == s->n) withdraw(c, s);
    *at = s->lo + (u64)(i - s->first) * s->stride;
    /* The next one of this size: programs with many blocks have none of it in the caches. */
    u32 next = s->free ? s->free : s->first + s->used;
    __builtin_prefetch(heap_block(next), 1);
    heap_hook_expected(s->lo + (u64)(next - s->first) * s->stride + redzone());
    return i;
}

/* A cell that can be used again.  Spans of which nothing is used go back, all but one of each class: programs whose
 * sizes change would keep memory for each size they ever had. */
static void cell_back(struct heap_span *s, u32 i) {
    u64 stride;
    u32 c = class_of(s->stride, &stride);
    struct ip_heap_block *b = heap_block(i);
    if (!s->free && s->used == s->n) offer(c, s);
    b->state = IP_HB_FREE;
    b->next = s->free;
    s->free = i;
    if (++s->n_free < s->used) return;
    if (!classes[c].empty) {
        classes[c].empty = s;
        return;
    }
    withdraw(c, s);
    spare(s->first, s->n);
    heap_span_free(s);
}

static void fifo_push(struct fifo *f, u32 i) {
    heap_block(i)->next = 0;
    if (f->tail)
        heap_block(f->tail)->next = i;
    else
        f->head = i;
    f->tail = i;
}

static u32 fifo_pop(struct fifo *f) {
    u32 i = f->head;
    if (i) {
        f->head = heap_block(i)->next;
        if (!f->head)
            f->tail = 0;
        else
            __builtin_prefetch(heap_block(f->head), 1); /* it is the next one, and has long left the caches */
    }
    return i;
}

/* Out of the quarantine: the cell may be used again. */
static void recycle(u32 i) {
    struct ip_heap_block *b = heap_block(i);
    struct heap_span *s = b->kind >= IP_AK_CUSTOM ? NULL : heap_span_of(b->addr);
    heap_table->quarantine_bytes -= b->size;
    if (s && s->n > 1) {
        cell_back(s, i);
        return;
    }
    if (s) heap_span_free(s);
    heap_record_free(i);
}

/* Blocks of --freelist-big-blocks and more go first (docs/spec/options.md section 7). As in Valgrind, this waits for
 * the next allocation: until then what was freed last is known, even with --freelist-vol=0. */
static void trim_quarantine(void) {
    while (heap_table->quarantine_bytes > rt.chan->freelist_vol) {
        u32 old = fifo_pop(&waiting_big);
        if (!old) old = fifo_pop(&waiting);
        if (!old) break;
        recycle(old);
    }
}

static u64 natural_alignment(void) { return rt.chan->alignment < CELL ? CELL : rt.chan->alignment; }

bool heap_block_ready(u64 size) {
    u64 rz = redzone(), slack = natural_alignment() - CELL, stride;
    u64 bytes = RT_ROUND_UP(rz + slack + (size ? size : 1) + rz, CELL);
    if (bytes > SMALL_MAX) return false;
    return classes[class_of(bytes, &stride)].spans != NULL;
}

u32 heap_block_new(u64 size, u64 align, int kind, bool *zeroed) {
    u64 rz = redzone(), natural = natural_alignment();
    u64 at, slack = 0;
    u32 i;
    *zeroed = false;
    trim_quarantine();
    if (align < natural) align = natural;
    if (align > CELL) slack = align - CELL;
    if (size > IP_CLIENT_END) return 0;
    u64 bytes = RT_ROUND_UP(rz + slack + (size ? size : 1) + rz, CELL);
    if (bytes <= SMALL_MAX) {
        i = cell_new(bytes, &at);
        if (!i) return 0;
    } else {
        i = heap_record_new();
        if (!i) return 0;
        struct heap_span *s = heap_span_new(bytes);
        if (!s) {
            heap_record_free(i);
            return 0;
        }
        s->stride = s->hi - s->lo;
        s->n = s->used = 1;
        s->first = i;
        at = s->lo;
        *zeroed = true;
    }
    struct ip_heap_block *b = heap_block(i);
    b->addr = RT_ROUND_UP(at + rz, align);
    b->size = size;
    b->alloc_ctx = b->free_ctx = b->next = 0;
    b->kind = (u8)kind;
    b->align_log2 = align > natural ? (u16)__builtin_ctzll(align) : 0;
    b->state = IP_HB_LIVE;
    heap_table->live_blocks++;
    heap_table->live_bytes += size;
    return i;
}

void heap_block_retire(u32 i) {
    struct ip_heap_block *b = heap_block(i);
    struct ip_heap_table *t = heap_table;
    if (b->kind <= IP_AK_CUSTOM) {
        t->live_blocks--;
        t->live_bytes -= b->size;
    }
    t->quarantine_bytes += b->size;
    b->state = IP_HB_QUARANTINE;
    fifo_push(b->size >= rt.chan->freelist_big ? &waiting_big : &waiting, i);
}

/* Record of the cell that addr lies in; 0 outside the heap. */
static u32 cell_of(u64 addr, struct heap_span **span) {
    struct heap_span *s = heap_span_of(addr);
    *span = s;
    if (!s || !s->stride) return 0;
    u64 k = s->n == 1 ? 0 : (u32)(addr - s->lo) / (u32)s->stride;
    return k < s->used ? s->first + (u32)k : 0;
}

void heap_block_expected(u64 addr) {
    struct heap_span *s;
    __builtin_prefetch(heap_block(cell_of(addr, &s)), 1);
}

u32 heap_block_exact(u64 addr) {
    struct heap_span *s;
    u32 i = cell_of(addr, &s);
    if (i && heap_block(i)->addr == addr && heap_block(i)->state == IP_HB_LIVE) return i;
    return 0;
}

u64 heap_block_room(u32 i) {
    struct heap_span *s;
    u32 cell = cell_of(heap_block(i)->addr, &s);
    return cell ? s->lo + (u64)(cell - s->first + 1) * s->stride - heap_block(i)->addr : 0;
}

static u32 custom_slot(u64 addr) { return (u32)((addr >> 3) * 0x9e3779b1u) & (custom_cap - 1); }

void heap_custom_add(u32 index) {
    heap_has_custom = true;
    if (custom_used * 2 >= custom_cap) {
        u32 old_cap = custom_cap, *old = custom;
        custom_cap = old_cap ? old_cap * 2 : 1024;
        custom = rt_pages(custom_cap * sizeof *custom);
        custom_used = 0;
        for (u32 k = 0; k < old_cap; k++)
            if (old[k] > 1) heap_custom_add(old[k] - 1);
        if (old) rt_free_pages(old, old_cap * sizeof *old);
    }
    u32 k = custom_slot(heap_block(index)->addr);
    while (custom[k] > 1) k = (k + 1) & (custom_cap - 1);
    custom_used += custom[k] == 0;
    custom[k] = index + 1;
}

u32 heap_custom_find(u64 addr, bool remove) {
    if (!custom_cap) return 0;
    for (u32 k = custom_slot(addr); custom[k]; k = (k + 1) & (custom_cap - 1)) {
        u32 i = custom[k] - 1;
        if (custom[k] > 1 && heap_block(i)->addr == addr) {
            if (remove) custom[k] = 1;
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
        return i;
    }
    return 0;
}

bool heap_block_at(u64 addr, u64 *lo, u64 *size) {
    struct heap_span *s;
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

u32 heap_describe(u64 addr) {
    u32 best = 0;
    u64 rank = ~0ull;
    struct heap_span *s;
    if (!heap_table) return 0;
    rt_lock(&heap_lock);
    if ((best = heap_chunk_at(addr))) {
        rt_unlock(&heap_lock);
        return best;
    }
    for (u32 k = 0; k < custom_cap; k++)
        if (custom[k] > 1) consider(custom[k] - 1, addr, &best, &rank);
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
    rt_unlock(&heap_lock);
    return best;
}
