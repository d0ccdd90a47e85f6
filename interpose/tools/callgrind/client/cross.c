/* Calls that a block's end has made before, and returns from them: what nearly all ways between functions are that
 * generated code comes to.  It does what cg_cross does, which has all others. */
#include "tools/callgrind/client/simulate.h"

#define INLINE static inline __attribute__((always_inline))

/* Where the vector of costs is the usual one, its length and places are constants. */
#define USUAL_EVENTS 13
static const u8 usual_places[] = {
    [CG_IR] = 0,   [CG_DR] = 1,   [CG_DW] = 2, [CG_I1MR] = 3, [CG_D1MR] = 4, [CG_D1MW] = 5, [CG_ILMR] = 6,
    [CG_DLMR] = 7, [CG_DLMW] = 8, [CG_BC] = 9, [CG_BCM] = 10, [CG_BI] = 11,  [CG_BIM] = 12,
};

static bool is_usual(void) {
    for (u32 i = 0; i < sizeof usual_places; i++)
        if ((usual_places[i] || i == CG_IR) && cg_place(i) != usual_places[i]) return false;
    return cg.n_events == USUAL_EVENTS;
}

INLINE u64 *total(struct thread *t, enum cg_event e, const bool usual) {
    return &t->shared.total[usual ? usual_places[e] : cg_place(e)];
}

INLINE void add_totals(struct thread *t, struct cg_sim *s, const bool usual) {
    t->shared.total[0] += CG_INSNS(s->insns);
    if (usual || cg.caches) {
        *total(t, CG_DR, usual) += CG_READS(s->sum);
        *total(t, CG_DW, usual) += CG_WRITES(s->sum);
    }
    if (usual || cg.branches) {
        *total(t, CG_BC, usual) += CG_BRANCHES_OF(s->insns);
        *total(t, CG_BCM, usual) += s->surprises;
        *total(t, CG_BI, usual) += s->indirects;
        *total(t, CG_BIM, usual) += s->misdirected;
    }
    s->insns = s->sum = s->surprises = s->indirects = s->misdirected = 0;
}

INLINE struct cg_frame *below(const struct thread *t, struct cg_frame *f, const bool usual) {
    u64 bytes = usual ? sizeof *f + (USUAL_EVENTS - 1) * sizeof(u64) : t->shared.frame_bytes;
    return (struct cg_frame *)((u8 *)f - bytes);
}

/* Here and in assembly the newest frame is what RSP is compared with. */
INLINE struct cg_place *arrive(struct thread *t, struct cg_place *at, const struct ip_tr_block *b, struct cg_context *x,
                               u64 limit) {
    t->shared.context = x;
    t->sim->context = x;
    t->sim->limit = limit;
    return at->context == x ? at : cg_place_block(t, b);
}

INLINE struct cg_place *come_back(struct thread *t, struct cg_place *at, const struct ip_tr_block *b, u64 sp,
                                  const bool usual) {
    struct cg_frame *top = cg_top(t), *f = top, *next;
    u64 depth = t->shared.depth - 1;
    if (top->sp > sp) return 0;
    for (;; f = next, depth--) {
        if (!(f->flags & CG_PLAIN)) return 0;
        next = below(t, f, usual);
        if (next->sp > sp) break;
    }
    struct cg_context *x = f->context;
    if (at->context != x && x->function != b->function) return 0;
    add_totals(t, t->sim, usual);
    t->shared.depth = depth;
    for (;; top = below(t, top, usual)) {
        u64 *cost = top->call->cost;
        if (usual) {
#pragma GCC unroll 13
            for (u32 i = 0; i < USUAL_EVENTS; i++) cost[i] += t->shared.total[i] - top->began[i];
        } else {
            for (u32 i = 0; i < cg.n_events; i++) cost[i] += t->shared.total[i] - top->began[i];
        }
        --*top->active;
        if (top == f) return arrive(t, at, b, x, next->sp);
    }
}

/* k is of this call. */
INLINE struct cg_place *call(struct thread *t, const struct cg_known *k, struct cg_place *last, struct cg_place *at,
                             const struct ip_tr_block *b, u64 sp, const bool usual) {
    struct cg_sim *s = t->sim;
    u32 level = *k->active < k->last_level ? *k->active : k->last_level;
    if (level != k->level || t->shared.depth == t->frames_room) return 0;
    struct cg_frame *top = cg_top(t), *to = below(t, top, usual);
    to = (struct cg_frame *)((u8 *)top + ((u8 *)top - (u8 *)to));
    if (k->flags & CG_TAIL) {
        if (!t->shared.depth || (last->end == IP_TR_JMPI && sp >= top->sp)) return 0;
        if (top->flags & CG_TAIL && top->context->function == b->function) return 0;
        sp = top->sp;
    }
    if (cg.branches && (last->end == IP_TR_CALLI || last->end == IP_TR_JMPI)) {
        u64 number = last->end_branch, *target = &s->indirect[last->branches[number]], surprise = *target != at->pc;
        s->indirects++;
        s->misdirected += surprise;
        last->counter->missed[number] += surprise;
        *target = at->pc;
    }
    add_totals(t, s, usual);
    t->shared.depth++;
    to->sp = sp;
    to->context = t->shared.context;
    to->counter = last->counter;
    to->call = k->call;
    to->active = k->active;
    to->insn = last->n - 1u;
    to->flags = k->flags;
    if (usual) {
#pragma GCC unroll 13
        for (u32 i = 0; i < USUAL_EVENTS; i++) to->began[i] = t->shared.total[i];
    } else {
        for (u32 i = 0; i < cg.n_events; i++) to->began[i] = t->shared.total[i];
    }
    k->call->count++;
    ++*k->active;
    *k->entry = at->pc;
    if (at->context != k->to) {
        at->context = k->to;
        at->counter = k->counter;
    }
    return arrive(t, at, b, k->to, sp);
}

/* Where a call of the block by the counter's block is kept, of several that a block's end makes in turns. */
INLINE struct cg_known *kept(const struct thread *t, const struct cg_counter *c, const struct ip_tr_block *b) {
    return &t->sim->known[((u64)c >> 4 ^ (u64)b >> 6) % CG_KNOWN];
}

/* One that was learnt before, or at least none of this block. */
INLINE struct cg_known *other(const struct thread *t, const struct cg_counter *c, const struct ip_tr_block *b) {
    static struct cg_known none;
    struct cg_known *k = kept(t, c, b);
    return k->from == c ? k : &none;
}

INLINE struct cg_place *cross(struct thread *t, struct cg_place *last, const u64 *p, const u64 *last_p,
                              const bool usual) {
    struct cg_place *to = 0;
    if ((u32)*p >= IP_TR_EVENTS && tr_completed(*last_p) == last->n) {
        const struct ip_tr_block *b = (const struct ip_tr_block *)(u64)(u32)*p;
        const struct cg_known *k = cg_known_of(last->counter);
        struct cg_place *at = cg_place_at(t->sim->places, (u32)*p);
        u64 sp = last_p[1 + k->sp_word] + (u64)k->sp_disp;
        if (last->end == IP_TR_RET)
            to = come_back(t, at, b, sp + 8, usual);
        else if (k->block == b || (k = other(t, last->counter, b))->block == b)
            to = call(t, k, last, at, b, sp, usual);
    }
    return to ? to : cg_cross(t, last, p, last_p);
}

static struct cg_place *cross_usual(struct thread *t, struct cg_place *last, const u64 *p, const u64 *last_p) {
    return cross(t, last, p, last_p, true);
}
static struct cg_place *cross_any(struct thread *t, struct cg_place *last, const u64 *p, const u64 *last_p) {
    return cross(t, last, p, last_p, false);
}

cg_crossing *cg_crossing_of(void) { return is_usual() ? cross_usual : cross_any; }

/* The newest frame is that of a call by the counter's block, now at its end: the next one is made here. */
void cg_learn(struct thread *t, struct cg_counter *c, struct cg_place *at) {
    struct cg_known *k = cg_known_of(c);
    struct cg_function *f = cg_plan_at(at)->function;
    struct cg_frame *top = cg_top(t);
    if (!f || !cg_knows_context(f) || top->flags & ~(CG_TAIL | CG_SKIP)) return;
    top->flags |= CG_PLAIN;
    k->from = c;
    k->block = cg_plan_at(at)->block;
    k->to = t->shared.context;
    k->call = top->call;
    k->active = top->active;
    k->counter = at->counter;
    k->flags = top->flags;
    k->last_level = top->flags & CG_SKIP ? 0 : (u32)cg_last_level(f);
    k->level = *k->active - 1 < k->last_level ? *k->active - 1 : k->last_level;
    k->entry = top->flags & CG_TAIL || cg_is_unknown(f) ? &t->sim->ignored : &f->entry;
    *kept(t, c, k->block) = *k;
}
