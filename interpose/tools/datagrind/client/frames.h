/* What calls and returns do to a thread's call stack (stacks.c), for the loop that has many of them. */
#ifndef INTERPOSE_DATAGRIND_CLIENT_FRAMES_H
#define INTERPOSE_DATAGRIND_CLIENT_FRAMES_H

#include "tools/datagrind/client/datagrind.h"

#define DG_BASE 0x9e3779b97f4a7c15ull
extern u64 dg_leaving; /* what the oldest address of a full window was multiplied with since */

static inline u64 dg_mix(u64 x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ull;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ull;
    return x ^ x >> 32;
}

/* The number of a stack without callers: another one after code has gone, for what it called was called by others. */
static inline u64 dg_first_number(const struct dg_thread *t) { return 2 * t->code + 1; }

static inline u64 dg_number_of(const struct dg_thread *t, u64 caller, u32 depth, u64 ret_mixed) {
    u64 number = caller * DG_BASE + ret_mixed;
    if (__builtin_expect(depth < DG_CALLERS, 1)) return number;
    if (depth == DG_CALLERS) number -= dg_first_number(t) * dg_leaving * DG_BASE;
    return number - dg_mix(t->frames[depth - DG_CALLERS].ret) * dg_leaving;
}

/* Without room, whoever is called seems to be called from where this one was. */
static inline void dg_push(struct dg_thread *t, struct dg_frame frame, u64 ret_mixed) {
    if (__builtin_expect(t->n_frames == t->cap_frames, 0) && !dg_more_frames(t)) return;
    frame.caller = t->stack;
    t->stack = dg_number_of(t, t->stack, t->n_frames, ret_mixed);
    t->frames[t->n_frames++] = frame;
}

static inline void dg_pop(struct dg_thread *t) {
    const struct dg_frame *f = &t->frames[--t->n_frames];
    t->n_handlers -= f->interrupted != 0;
    t->stack = f->caller;
}

/* RSP is sp now: what lies below has gone. */
static inline void dg_drop(struct dg_thread *t, u64 sp) {
    while (t->n_frames && t->frames[t->n_frames - 1].slot < sp) dg_pop(t);
}

static inline void dg_call(struct dg_thread *t, u64 ret, u64 ret_mixed, u64 slot) {
    dg_drop(t, slot + 8);
    dg_push(t, (struct dg_frame){.slot = slot, .ret = ret}, ret_mixed);
}

#endif
