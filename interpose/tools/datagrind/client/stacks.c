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
#include "tools/datagrind/client/datagrind.h"

#define MOST_FRAMES (1u << 20)
#define BASE        0x9e3779b97f4a7c15ull

static u64 leaving; /* what the oldest address of a full window was multiplied with since */

/* The number of a stack without callers: another one after code has gone, for what it called was called by others. */
static u64 first_number(const struct dg_thread *t) { return 2 * t->code + 1; }

void dg_stacks_start(void) {
    leaving = 1;
    for (u32 i = 0; i < DG_CALLERS; i++) leaving *= BASE;
}

/* ---- Frames ------------------------------------------------------------------------- */

static void more_frames(struct dg_thread *t) {
    u32 cap = t->cap_frames ? t->cap_frames * 2 : 4096;
    struct dg_frame *more = rt_pages(cap * sizeof *more);
    if (t->frames) {
        rt_memcpy(more, t->frames, t->n_frames * sizeof *more);
        rt_free_pages(t->frames, t->cap_frames * sizeof *more);
    }
    t->frames = more;
    t->cap_frames = cap;
}

void dg_stack_new(struct dg_thread *t) {
    if (!t->frames) more_frames(t);
    t->n_frames = t->n_handlers = 0;
    t->stack = first_number(t);
}

static inline u64 number_of(const struct dg_thread *t, u64 caller, u32 depth, u64 ret) {
    u64 number = caller * BASE + dg_mix(ret);
    if (depth == DG_CALLERS) number -= first_number(t) * leaving * BASE;
    if (depth >= DG_CALLERS) number -= dg_mix(t->frames[depth - DG_CALLERS].ret) * leaving;
    return number;
}

void dg_stack_renew(struct dg_thread *t, u64 code) {
    t->code = code;
    t->stack = first_number(t);
    for (u32 i = 0; i < t->n_frames; i++) {
        t->frames[i].caller = t->stack;
        t->stack = number_of(t, t->stack, i, t->frames[i].ret);
    }
}

static inline void push(struct dg_thread *t, struct dg_frame frame) {
    if (__builtin_expect(t->n_frames == t->cap_frames, 0)) {
        if (t->cap_frames >= MOST_FRAMES) return; /* whoever is called seems to be called from where this one was */
        more_frames(t);
    }
    frame.caller = t->stack;
    t->stack = number_of(t, t->stack, t->n_frames, frame.ret);
    t->frames[t->n_frames++] = frame;
}

static inline void pop(struct dg_thread *t) {
    const struct dg_frame *f = &t->frames[--t->n_frames];
    t->n_handlers -= f->interrupted != 0;
    t->stack = f->caller;
}

/* RSP is sp now: what lies below has gone. */
void dg_drop(struct dg_thread *t, u64 sp) {
    while (t->n_frames && t->frames[t->n_frames - 1].slot < sp) pop(t);
}

void dg_call(struct dg_thread *t, u64 ret, u64 slot) {
    dg_drop(t, slot + 8);
    push(t, (struct dg_frame){.slot = slot, .ret = ret});
}

/* Whether RSP is nearer to what a handler interrupted than to the handler's stack: it was left by a jump. */
static bool has_left(const struct dg_frame *f, u64 sp) {
    u64 far = f->slot > sp ? f->slot - sp : sp - f->slot;
    u64 near = f->interrupted > sp ? f->interrupted - sp : sp - f->interrupted;
    return f->interrupted && near < far;
}

/* A thread may have left a handler on a stack of its own, which may lie anywhere. */
void dg_drop_handlers(struct dg_thread *t, u64 sp) {
    for (u32 i = t->n_frames; t->n_handlers && i-- > 0;) {
        if (!has_left(&t->frames[i], sp)) continue;
        while (t->n_frames > i) pop(t);
    }
}

void dg_handler(struct dg_thread *t, u64 pc, u64 interrupted, u64 sp) {
    u32 before = t->n_frames;
    push(t, (struct dg_frame){.slot = sp, .ret = pc + 1, .interrupted = interrupted});
    t->n_handlers += t->n_frames - before;
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
