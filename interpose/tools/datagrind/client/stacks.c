/* A thread's call stack.
 *
 * Call stacks are told apart by a number of 64 bits, a polynomial of the return addresses that a context shows: a call
 * multiplies and adds, a return takes the caller's number from its frame, and what goes beyond a context's length is
 * subtracted again, so deep recursion finds the same numbers.  A tree of stacks was tried: each call then costs a look
 * into memory that is not in the cache, and the tree of a recursive sort has a million nodes.
 *
 * Two stacks with one number would be shown as the first of them.  The addresses are mixed before they are multiplied
 * with, and n stacks have such a pair with a probability of n * n / 2^65: ten million of them, one in 400,000.
 */
#include "tools/datagrind/client/frames.h"

#define MOST_FRAMES (1u << 20)

u64 dg_leaving;

void dg_stacks_start(void) {
    dg_leaving = 1;
    for (u32 i = 0; i < DG_CALLERS; i++) dg_leaving *= DG_BASE;
}

/* ---- Frames ------------------------------------------------------------------------- */

/* Room for twice as many things of that size, or for the first ones; those that were there are there. */
static void *grown(void *things, u32 *cap, u32 first, u64 size) {
    u32 before = *cap;
    *cap = before ? before * 2 : first;
    void *more = rt_pages(*cap * size);
    if (before) {
        memcpy(more, things, before * size);
        rt_free_pages(things, before * size);
    }
    return more;
}

bool dg_more_frames(struct dg_thread *t) {
    if (t->cap_frames >= MOST_FRAMES) return false;
    t->frames = grown(t->frames, &t->cap_frames, 4096, sizeof *t->frames);
    return true;
}

void dg_stack_new(struct dg_thread *t) {
    if (!t->frames) dg_more_frames(t);
    t->n_frames = t->n_handlers = 0;
    t->stack = dg_first_number(t);
}

void dg_stack_renew(struct dg_thread *t, u64 code) {
    t->code = code;
    t->stack = dg_first_number(t);
    for (u32 i = 0; i < t->n_frames; i++) {
        t->frames[i].caller = t->stack;
        t->stack = dg_number_of(t, t->stack, i, dg_mix(t->frames[i].ret));
    }
}

/* Whether RSP is nearer to what a handler interrupted than to the handler's stack: it was left by a jump. */
static bool has_left(const struct dg_frame *f, u64 sp) {
    u64 far = f->slot > sp ? f->slot - sp : sp - f->slot;
    u64 near = f->interrupted > sp ? f->interrupted - sp : sp - f->interrupted;
    return f->interrupted && near < far;
}

/* A thread may have left a handler on a stack of its own, which may lie anywhere.  Each indirect jump asks, so only the
 * handlers' frames are looked at: what they interrupted may be deep. */
void dg_drop_handlers(struct dg_thread *t, u64 sp) {
    for (u32 i = t->n_handlers; i-- > 0;) {
        u32 frame = t->handlers[i];
        if (!has_left(&t->frames[frame], sp)) continue;
        while (t->n_frames > frame) dg_pop(t);
    }
}

void dg_handler(struct dg_thread *t, u64 pc, u64 interrupted, u64 sp) {
    u32 before = t->n_frames;
    dg_push(t, (struct dg_frame){.slot = sp, .ret = pc + 1, .interrupted = interrupted}, dg_mix(pc + 1));
    if (t->n_frames == before) return;
    if (t->n_handlers == t->cap_handlers) t->handlers = grown(t->handlers, &t->cap_handlers, 1024, sizeof *t->handlers);
    t->handlers[t->n_handlers++] = before;
}

void dg_handler_returned(struct dg_thread *t, u64 sp) {
    dg_drop_handlers(t, sp);
    dg_drop(t, sp);
}

u32 dg_callers(const struct dg_thread *t, u64 *ips, u32 most) {
    u32 n = t->n_frames < most ? t->n_frames : most;
    for (u32 i = 0; i < n; i++) ips[i] = t->frames[t->n_frames - 1 - i].ret - 1;
    return n;
}
