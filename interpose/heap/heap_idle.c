/* What is kept about memory of which no block owns a byte: given back when the heap has become larger than it ever was.
 *
 * Freed blocks wait in the quarantine, cells wait in spans of which others live, and all of them have as much shadow as
 * blocks that live.  To give it back whenever a page of it is nobody's costs programs whose blocks come and go in waves
 * two faults for each (docs/measurements.md, point 9).  They do not grow, so they do not come here; those that do,
 * have a sweep for every eighth that the heap grows by, which bounds what sweeps cost by what there is.  Still each
 * page would be given back some nine times, so spans in which nothing has happened since the last sweep are left out.
 */
#include "heap/heap.h"
#include "heap/heap_hooks.h"

#define LEAST (4ull << 20) /* that the heap grows by between two sweeps */

static u64 next_sweep = LEAST;

/* Below a page nothing can be given back. */
static void idle(u64 lo, u64 hi) {
    if (hi > lo && hi - lo >= RT_PAGE) heap_hook_idle(lo, hi - lo);
}

/* How many cells are in use, wait and are free, in a byte that is not zero: where that is as it was, nothing has been
 * taken or freed, or almost nothing has.  The exception, and two states of one byte, cost a little memory. */
static u8 state_of(const struct heap_span *s) {
    u32 live = 0;
    for (u32 k = 0; k < s->used; k++) live += s->records[k].state == IP_HB_LIVE;
    return (u8)((live * 0x9e3779b1u ^ s->n_free * 0x85ebca6bu ^ s->used * 0xc2b2ae35u) >> 24 | 1);
}

static void sweep_span(struct heap_span *s) {
    u8 state = state_of(s);
    if (s->swept == state) return;
    s->swept = state;
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

/* About as much as blocks that live take.  Those that the program declared lie in others, and make it too much. */
static u64 living(void) { return heap_table->live_bytes + heap_table->live_blocks * (2 * (u64)rt.chan->redzone + 8); }

void heap_grown(u64 in_spans) {
    u64 step = in_spans / 8 > LEAST ? in_spans / 8 : LEAST;
    if (in_spans < next_sweep) return;
    next_sweep = in_spans + step;
    if (living() + step > in_spans) return; /* a look at all blocks would win little */
    const struct ip_heap_table *t = heap_table;
    for (u64 i = 0; i < t->n_arenas; i++)
        sweep_arena(RT_ROUND_UP(t->arena_lo[i], HEAP_UNIT), RT_ROUND_DOWN(t->arena_hi[i], HEAP_UNIT));
}
