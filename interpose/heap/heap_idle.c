/* What is kept about memory of which no block owns a byte: given back when the heap has become larger than it ever was,
 * and when much was freed.
 *
 * Freed blocks wait in the quarantine, cells wait in spans of which others live, and all of them have as much shadow as
 * blocks that live.  To give it back whenever a page of it is nobody's costs programs whose blocks come and go in waves
 * two faults for each (docs/measurements.md, point 9).  So the heap has a sweep for every eighth that it grows by,
 * which bounds what sweeps cost by what there is, and one where as much was freed: as long as what was freed has not
 * come to more than the heap at its most, if fewer bytes live, and else within a part of the processor time.  Still
 * each page would be given back some nine times, so spans in which nothing was freed since the last sweep are left out.
 *
 * Where blocks are small nothing is given back: most of the memory is what is kept about each block then, of which
 * there is less here than elsewhere, and cells of a quarantine that is full are wanted again soon.
 */
#include <asm/unistd.h>
#include <linux/time.h>

#include "heap/heap_cells.h"
#include "heap/heap_hooks.h"

#define LEAST (4ull << 20) /* bytes between two sweeps */
/* What sweeps may take of the processor time beyond those that the heap's size pays for.  The faults that follow take
 * four times as much. */
#define PART 384
/* Where as much is freed in fewer microseconds, pages that are given back are wanted again at once. */
#define SOON 20000
/* The same for large blocks, each as it is freed: as many pages as this part pays for, at so many microseconds for one
 * that is given back and wanted again. */
#define PART_AT_ONCE 128
#define PAGE_COST    2
/* Heaps of so many bytes may have what is kept about them in common.  Where a block ends that does it costs a fault,
 * which small heaps, whose blocks most often end before the program does, would not make up for. */
#define ALIKE_FROM (64ull << 20)
/* So many bytes for each block beside a quarter of all: what two bits a byte and a description of a hundred bytes would
 * take, where ours has 32. */
#define A_BLOCK 64

u64 heap_freed_due = LEAST;
static u64 next_sweep = LEAST; /* bytes in spans */
static u64 next_share = ALIKE_FROM;
static struct ip_heap_span *big_made[2]; /* as those of a class */
static u64 in_spans, most;               /* bytes there are now, and were at the most */
static u64 live_then;                    /* bytes, at the last sweep or since */
static u64 paid;                         /* bytes freed that had sweeps for the heap's size */
static u64 last_due, spent;              /* microseconds: when much had been freed; in the other sweeps */

/* Below a page nothing can be given back. */
static void idle(u64 lo, u64 hi) {
    if (hi > lo && hi - lo >= RT_PAGE) heap_hook_idle(lo, hi - lo);
}

static bool is_dead(const struct ip_heap_span *s) {
    for (u32 k = 0; k < s->used; k++)
        if (s->records[k].state == IP_HB_LIVE) return false;
    return true;
}

static void sweep_span(struct ip_heap_span *s) {
    if (s->swept) return;
    s->swept = true;
    if (s->alike) {
        if (is_dead(s)) heap_hook_end_alike(s->lo, heap_span_end(s) - s->lo), s->alike = false;
        return;
    }
    u64 from = s->lo, end = heap_span_end(s); /* from: nobody has anything between it and the cell that is looked at */
    for (u32 k = 0; k < s->used; k++) {
        if (s->records[k].state != IP_HB_LIVE) continue;
        u64 lo = s->lo + (u64)k * s->stride;
        idle(from, lo);
        from = s->stride ? lo + s->stride : end;
    }
    idle(from, end);
}

/* Has each cell a live block of one size, at one place? */
static bool is_alike(const struct ip_heap_span *s) {
    const struct ip_heap_block *b = s->records;
    if (s->used != s->n) return false;
    for (u32 k = 0; k < s->n; k++)
        if (b[k].state != IP_HB_LIVE || b[k].size != b->size || b[k].addr - b->addr != (u64)k * s->stride) return false;
    return true;
}

static void share(struct ip_heap_span *s) {
    if (s->alike || heap_span_end(s) - s->lo >= HEAP_LARGE || !is_alike(s)) return;
    const struct ip_heap_block *b = s->records;
    s->alike = s->stride ? heap_hook_alike(s->lo, heap_span_end(s) - s->lo, s->stride, b->addr - s->lo, b->size)
                         : heap_hook_zeros(b->addr, b->size);
}

struct walk {
    u64 arena, lo;
};

/* Each span that there is, from an empty walk on; NULL: that was all. */
static struct ip_heap_span *next_span(struct walk *w) {
    const struct ip_heap_table *t = heap_table;
    for (; w->arena < t->n_arenas; w->arena++, w->lo = 0) {
        u64 end = RT_ROUND_DOWN(t->arena_hi[w->arena], HEAP_UNIT);
        if (!w->lo) w->lo = RT_ROUND_UP(t->arena_lo[w->arena], HEAP_UNIT);
        while (w->lo < end) {
            struct ip_heap_span *s = heap_span_of(w->lo);
            w->lo = s ? heap_span_end(s) : w->lo + HEAP_UNIT;
            if (s) return s;
        }
    }
    return NULL;
}

static void share_all(void) {
    struct walk w = {0};
    for (struct ip_heap_span *s; (s = next_span(&w));)
        if (s->n) share(s);
}

/* The one before the last, because blocks are filled after they have been given. */
void heap_span_made(struct ip_heap_span *made) {
    struct ip_heap_span **last = made->stride ? heap_classes[made->size_class].made : big_made, *s = last[1];
    last[1] = last[0];
    last[0] = made;
    if (in_spans < most || in_spans < ALIKE_FROM) return;
    if (in_spans >= next_share) {
        next_share = 2 * in_spans;
        share_all();
    } else if (s && s->n && s->stride == made->stride) {
        share(s);
    }
}

static void sweep_arena(u64 lo, u64 end) {
    u64 from = lo; /* no span lies between it and lo */
    while (lo < end) {
        struct ip_heap_span *s = heap_span_of(lo);
        if (!s) {
            lo += HEAP_UNIT;
            continue;
        }
        idle(from, lo);
        if (s->n) sweep_span(s); /* the one that is being made has no cells yet */
        from = lo = heap_span_end(s);
    }
    idle(from, end);
}

static void sweep(void) {
    const struct ip_heap_table *t = heap_table;
    for (u64 i = 0; i < t->n_arenas; i++)
        sweep_arena(RT_ROUND_UP(t->arena_lo[i], HEAP_UNIT), RT_ROUND_DOWN(t->arena_hi[i], HEAP_UNIT));
}

static u64 step_of(u64 bytes) { return bytes / 8 > LEAST ? bytes / 8 : LEAST; }

/* About as much as blocks that live do not take.  Those that the program declared lie in others, and make it too
 * little. */
static u64 unused(void) {
    u64 living = heap_table->live_bytes + heap_table->live_blocks * (2 * (u64)rt.chan->redzone + 8);
    return living < in_spans ? in_spans - living : 0;
}

u64 heap_processor_time(int clock) {
    u64 t[2];
    if (sys2(__NR_clock_gettime, clock, (long)t) < 0) return 0;
    return t[0] * 1000000 + t[1] / 1000;
}

static u64 processor_time(void) { return heap_processor_time(CLOCK_PROCESS_CPUTIME_ID); }

static void swept(u64 step) {
    heap_freed_due = heap_freed() + step;
    live_then = heap_table->live_bytes;
}

/* May all shadow stay?  A look at each span, not at each block. */
static bool is_modest(void) {
    struct walk w = {0};
    u64 blocks = 0;
    for (const struct ip_heap_span *s; (s = next_span(&w));) blocks += s->used;
    return in_spans <= in_spans / 4 + A_BLOCK * blocks;
}

void heap_grown(u64 bytes) {
    u64 step = step_of(in_spans = bytes);
    if (bytes > most) most = bytes;
    if (heap_table->live_bytes > live_then) live_then = heap_table->live_bytes;
    if ((i64)(heap_freed_due - heap_freed() - step) > 0) heap_freed_due = heap_freed() + step; /* it was larger */
    if (bytes < next_sweep) return;
    next_sweep = bytes + step;
    if (unused() < step || is_modest()) return; /* a look at all blocks would win little */
    sweep();
    swept(step);
}

/* Most of what is freed together often lies in few large blocks (of a compiler's 20 MB of quarantine more than half).
 * Who only takes and frees such blocks must not wait for their pages each time. */
bool heap_gives_back(u64 addr, u64 bytes) {
    static u64 at_once; /* microseconds */
    if (bytes <= HEAP_SMALL || bytes >= HEAP_LARGE) return false;
    struct ip_heap_span *s = heap_span_of(addr);
    if (s && !s->stride && s->alike) {
        heap_hook_end_zeros(addr, bytes);
        s->alike = false;
        return true; /* most of it went just now */
    }
    if (at_once > processor_time() / PART_AT_ONCE) return false;
    at_once += bytes / RT_PAGE * PAGE_COST;
    return true;
}

void heap_freed_much(void) {
    u64 step = step_of(in_spans), began = processor_time(), since = began - last_due;
    bool fewer = heap_table->live_bytes + step <= live_then;
    last_due = began;
    heap_freed_due = heap_freed() + step;
    if (unused() < step || is_modest()) return;
    if (fewer && paid + step <= most) {
        paid += step;
        sweep();
    } else {
        if (since < SOON || spent > began / PART) return;
        sweep();
        spent += processor_time() - began;
    }
    swept(step);
}
