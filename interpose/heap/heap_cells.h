/* Cells and the quarantine in line, for heap_blocks.c and for what programs do most (heap_fast.c).  All under
 * heap_lock.
 *
 * A cell is: red zone, payload, red zone.  A payload's V bits are 0xff whenever nobody owns it (fresh or freed), so
 * allocation only has to clear A bits.
 */
#ifndef INTERPOSE_HEAP_CELLS_H
#define INTERPOSE_HEAP_CELLS_H

#include "heap/heap.h"
#include "heap/heap_hooks.h"

#define HEAP_CELL     16ull
#define HEAP_LOW      512u    /* cells from here on are given by the lowest span that has one: others become empty */
#define HEAP_LINEAR   1024ull /* classes of 16 bytes up to here, then eight for each doubling */
#define HEAP_N_LINEAR (HEAP_LINEAR / HEAP_CELL + 1)
#define HEAP_CLASSES  (HEAP_N_LINEAR + 5 * 8)

_Static_assert(HEAP_CLASSES < 256, "ip_heap_span.size_class");

/* The spans of a class that have cells to give, the one used last first; and one of them that is wholly empty, which
 * is kept so that a program at the edge of a span does not give and take it all the time. */
extern struct heap_class {
    struct ip_heap_span *spans, *empty;
    struct ip_heap_span *made[2]; /* last, and before that: whatever has become of them */
    bool grown;                   /* it has had one */
} heap_classes[];

/* The quarantine, linked through .next. */
extern struct heap_fifo {
    u32 head, tail;
} heap_waiting, heap_waiting_big;

static inline u64 heap_redzone(void) { return RT_ROUND_UP(rt.chan->redzone, HEAP_CELL); }
static inline u64 heap_alignment(void) { return rt.chan->alignment < HEAP_CELL ? HEAP_CELL : rt.chan->alignment; }
static inline u64 heap_cell_bytes(u64 size, u64 align) {
    return RT_ROUND_UP(2 * heap_redzone() + (align > HEAP_CELL ? align - HEAP_CELL : 0) + (size ? size : 1), HEAP_CELL);
}

/* Class of a cell of so many bytes (a multiple of HEAP_CELL), and its size. */
static inline u32 heap_class_of(u64 bytes, u64 *stride) {
    if (rt_likely(bytes <= HEAP_LINEAR)) {
        *stride = bytes;
        return (u32)(bytes / HEAP_CELL);
    }
    u32 top = 63 - (u32)__builtin_clzll(bytes - 1); /* 2^top < bytes <= 2^(top+1) */
    u64 step = 1ull << (top - 3);
    u64 up = RT_ROUND_UP(bytes, step);
    *stride = up;
    return (u32)(HEAP_N_LINEAR + (top - 10) * 8 + (up - (1ull << top)) / step - 1);
}

/* Record of the cell that addr lies in; NULL outside of the cells given so far. */
static inline struct ip_heap_block *heap_cell_of(u64 addr, struct ip_heap_span **span) {
    struct ip_heap_span *s = heap_span_of(addr);
    *span = s;
    if (rt_unlikely(!s)) return NULL;
    u64 k = ((addr - s->lo) * s->inverse) >> HEAP_INVERSE;
    return rt_likely(k < s->used) ? s->records + k : NULL;
}
static inline u32 heap_index(const struct ip_heap_span *s, const struct ip_heap_block *b) {
    return s->first + (u32)(b - s->records);
}
/* The live block that begins at addr. */
static inline struct ip_heap_block *heap_cell_exact(u64 addr, struct ip_heap_span **span) {
    struct ip_heap_block *b = heap_cell_of(addr, span);
    return rt_likely(b && b->addr == addr && b->state == IP_HB_LIVE) ? b : NULL;
}

static inline void heap_offer(struct heap_class *c, struct ip_heap_span *s) {
    s->before = NULL;
    s->next = c->spans;
    if (s->next) s->next->before = s;
    c->spans = s;
}
/* The same, but it is not used before the first one has no more. */
static inline void heap_offer_behind(struct ip_heap_span *first, struct ip_heap_span *s) {
    s->before = first;
    s->next = first->next;
    if (s->next) s->next->before = s;
    first->next = s;
}
static inline void heap_withdraw(struct heap_class *c, struct ip_heap_span *s) {
    if (s->next) s->next->before = s->before;
    if (s->before)
        s->before->next = s->next;
    else
        c->spans = s->next;
}

/* A cell of the first span of its class, which there is. */
static inline struct ip_heap_block *heap_cell_take(struct heap_class *c, u64 *at, u32 *index) {
    struct ip_heap_span *s = c->spans;
    u64 k;
    if (rt_likely(s->free)) {
        k = s->free - s->first;
        s->free = s->records[k].next;
        s->n_free--;
    } else {
        k = s->used++;
    }
    if (s == c->empty) c->empty = NULL;
    if (!s->free && s->used == s->n) heap_withdraw(c, s);
    *at = s->lo + k * s->stride;
    *index = s->first + (u32)k;
    return s->records + k;
}

/* Nothing of the span is used any more, and the class has another such one. */
void heap_span_empty(struct ip_heap_span *s);

/* A cell that can be used again, and, if it is small, will be at once: its record is in the caches.  Spans of which
 * nothing is used go back, all but one of each class: programs whose sizes change would keep memory for each size they
 * ever had. */
static inline void heap_cell_back(struct ip_heap_span *s, struct ip_heap_block *b) {
    struct heap_class *c = &heap_classes[s->size_class];
    if (c->spans != s) {
        bool listed = s->free || s->used != s->n;
        if (s->stride < HEAP_LOW || !c->spans || s->lo < c->spans->lo) {
            if (listed) heap_withdraw(c, s);
            heap_offer(c, s);
        } else if (!listed) {
            heap_offer_behind(c->spans, s);
        }
    }
    b->state = IP_HB_FREE;
    b->next = s->free;
    s->free = heap_index(s, b);
    if (++s->n_free < s->used) return;
    if (c->empty)
        heap_span_empty(s);
    else
        c->empty = s;
}

static inline void heap_fifo_push(struct heap_fifo *f, u32 i, struct ip_heap_block *b) {
    b->next = 0;
    if (rt_likely(f->tail))
        heap_block(f->tail)->next = i;
    else
        f->head = i;
    f->tail = i;
}
static inline u32 heap_fifo_pop(struct heap_fifo *f) {
    u32 i = f->head;
    if (rt_likely(i)) {
        f->head = heap_block(i)->next;
        if (rt_unlikely(!f->head))
            f->tail = 0;
        else
            __builtin_prefetch(heap_block(f->head), 1); /* it is the next one, and has long left the caches */
    }
    return i;
}

/* A block that its owner gives back, into the quarantine. */
static inline void heap_retire(u32 i, struct ip_heap_block *b) {
    struct ip_heap_table *t = heap_table;
    if (rt_likely(b->kind <= IP_AK_CUSTOM)) {
        t->live_blocks--;
        t->live_bytes -= b->size;
    }
    t->quarantine_bytes += b->size;
    b->state = IP_HB_QUARANTINE;
    heap_fifo_push(b->size >= rt.chan->freelist_big ? &heap_waiting_big : &heap_waiting, i, b);
}

/* Out of the quarantine, what has no cell among others. */
void heap_recycle(u32 i);

/* The block that leaves the quarantine next, and the span of its cell or NULL, if it has none; NULL: there is none.
 * Those of --freelist-big-blocks and more go first (docs/spec/options.md section 7). */
static inline struct ip_heap_block *heap_leave_quarantine(u32 *index, struct ip_heap_span **span) {
    u32 i = rt_unlikely(heap_waiting_big.head) ? heap_fifo_pop(&heap_waiting_big) : heap_fifo_pop(&heap_waiting);
    if (rt_unlikely(!i)) return NULL;
    struct ip_heap_block *b = heap_block(i);
    *index = i;
    *span = b->kind >= IP_AK_CUSTOM ? NULL : heap_span_of(b->addr);
    heap_table->quarantine_bytes -= b->size;
    return b;
}

/* As in Valgrind, this waits for the next allocation: until then what was freed last is known, even with
 * --freelist-vol=0. */
static inline void heap_trim_quarantine(void) {
    while (heap_table->quarantine_bytes > rt.chan->freelist_vol) {
        struct ip_heap_span *s;
        u32 i;
        struct ip_heap_block *b = heap_leave_quarantine(&i, &s);
        if (!b) break;
        if (s && s->stride)
            heap_cell_back(s, b);
        else
            heap_recycle(i);
    }
}

/* The record of a block that the program gets. */
static inline void heap_block_fill(struct ip_heap_block *b, u64 addr, u64 size, int kind, u64 align) {
    *b = (struct ip_heap_block){
        .addr = addr,
        .size = size,
        .next = (u32)heap_table->allocs,
        .kind = (u8)kind,
        .align_log2 = align ? (u8)__builtin_ctzll(align) : 0,
        .holds = b->holds,
        .state = IP_HB_LIVE,
    };
    heap_table->live_blocks++;
    heap_table->live_bytes += size;
}

#endif
