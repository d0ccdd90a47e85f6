/* What is kept about memory of which no block owns a byte: given back when the heap has become larger than it ever was,
 * and when much was freed.
 *
 * Freed blocks wait in the quarantine, cells wait in spans of which others live, and all of them have as much shadow as
 * blocks that live.  To give it back whenever a page of it is nobody's costs programs whose blocks come and go in waves
 * two faults for each (docs/measurements.md, point 9).  So the heap has a sweep for every eighth that it grows by,
 * which bounds what sweeps cost by what there is, and one where as much was freed: as long as what was freed has not
 * come to more than the heap at its most, if fewer bytes live, and else within a part of the processor time.  Still
 * each page would be given back some nine times, so spans in which nothing was freed since the last sweep are left out.
 */
#include <asm/unistd.h>
#include <linux/time.h>

#include "heap/heap.h"
#include "heap/heap_hooks.h"

#define LEAST (4ull << 20) /* bytes between two sweeps */
/* What sweeps may take of the processor time beyond those that the heap's size pays for.  The faults that follow take
 * four times as much. */
#define PART 384
/* Where as much is freed in fewer microseconds, pages that are given back are wanted again at once. */
#define SOON 20000

u64 heap_freed_due = LEAST;
static u64 next_sweep = LEAST; /* bytes in spans */
static u64 in_spans, most;     /* bytes there are now, and were at the most */
static u64 live_then;          /* bytes, at the last sweep or since */
static u64 paid;               /* bytes freed that had sweeps for the heap's size */
static u64 last_due, spent;    /* microseconds: when much had been freed; in the other sweeps */

/* Below a page nothing can be given back. */
static void idle(u64 lo, u64 hi) {
    if (hi > lo && hi - lo >= RT_PAGE) heap_hook_idle(lo, hi - lo);
}

static void sweep_span(struct heap_span *s) {
    if (s->swept) return;
    s->swept = true;
    u64 from = s->lo, end = heap_span_end(s); /* from: nobody has anything between it and the cell that is looked at */
    for (u32 k = 0; k < s->used; k++) {
        if (s->records[k].state != IP_HB_LIVE) continue;
        u64 lo = s->lo + (u64)k * s->stride;
        idle(from, lo);
        from = s->stride ? lo + s->stride : end;
    }
    idle(from, end);
}

static void sweep_arena(u64 lo, u64 end) {
    u64 from = lo; /* no span lies between it and lo */
    while (lo < end) {
        struct heap_span *s = heap_span_of(lo);
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

static u64 processor_time(void) { /* microseconds */
    u64 t[2];
    if (sys2(__NR_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, (long)t) < 0) return 0;
    return t[0] * 1000000 + t[1] / 1000;
}

static u64 freed(void) { return heap_table->bytes_allocated - heap_table->live_bytes; }

static void swept(u64 step) {
    heap_freed_due = freed() + step;
    live_then = heap_table->live_bytes;
}

void heap_grown(u64 bytes) {
    u64 step = step_of(in_spans = bytes);
    if (bytes > most) most = bytes;
    if (heap_table->live_bytes > live_then) live_then = heap_table->live_bytes;
    if ((i64)(heap_freed_due - freed() - step) > 0) heap_freed_due = freed() + step; /* it was larger */
    if (bytes < next_sweep) return;
    next_sweep = bytes + step;
    if (unused() < step) return; /* a look at all blocks would win little */
    sweep();
    swept(step);
}

void heap_freed_much(void) {
    u64 step = step_of(in_spans), began = processor_time(), since = began - last_due;
    bool fewer = heap_table->live_bytes + step <= live_then;
    last_due = began;
    heap_freed_due = freed() + step;
    if (unused() < step) return;
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
