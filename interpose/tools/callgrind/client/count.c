/* Runs counted in line (abi/count.h): where no more is asked for than instructions and calls, the program's code counts
 * its own runs, and comes here only when it goes a way from one context to another that it has not gone before.
 * arrive.S goes those that it has.  Between two visits tstate has what struct thread has otherwise. */
#include <stddef.h>

#include "runtime/base/rt.h"
#include "runtime/seam.h"
#include "tools/callgrind/client/callgrind.h"

#define ORDER(what) _Static_assert(what, "arrive.S")
ORDER(offsetof(struct ip_tr_block, function) == 48);
ORDER(IP_CT_JUMP == 0 && IP_CT_CALL == 1 && IP_CT_INDIRECT == 2 && IP_CT_RETURN == 3 && IP_CT_KIND == 3);
ORDER(IP_CT_TOTALS == 4);
ORDER(sizeof(struct cg_frame) == 80 && offsetof(struct cg_frame, sp) == 0 && offsetof(struct cg_frame, context) == 8);
ORDER(offsetof(struct cg_frame, counter) == 16 && offsetof(struct cg_frame, call) == 24);
ORDER(offsetof(struct cg_frame, active) == 32 && offsetof(struct cg_frame, insn) == 40);
ORDER(offsetof(struct cg_frame, flags) == 44 && offsetof(struct cg_frame, began) == 72);
ORDER(CG_TAIL == 1 && CG_F_SKIP == 0x400000 && (CG_TAIL | CG_SKIP) == 3 && CG_P_STAY == 16 && CG_P_ABOVE == 32 &&
      CG_P_FRAME == 3);
ORDER(sizeof(struct cg_pair) == 1 << 6 && CG_PAIRS_MOST == 1 << (32 - 14));
ORDER(offsetof(struct cg_frame, base) == 56 && offsetof(struct cg_frame, where) == 64);
ORDER(offsetof(struct cg_pair, block) == 4 && offsetof(struct cg_pair, back) == 12);
ORDER(offsetof(struct cg_pair, context) == 8 && offsetof(struct cg_pair, to) == 16);
ORDER(offsetof(struct cg_pair, call) == 24 && offsetof(struct cg_pair, counter) == 32);
ORDER(offsetof(struct cg_pair, active) == 40 && offsetof(struct cg_pair, base) == 48);
ORDER(offsetof(struct cg_pair, where) == 56 && offsetof(struct cg_pair, insn) == 60);
ORDER(offsetof(struct cg_pair, flags) == 62 && offsetof(struct cg_pair, level) == 63);
ORDER(offsetof(struct cg_call, count) == 40 && offsetof(struct cg_call, cost) == 48);
ORDER(offsetof(struct cg_context, function) == 60);
_Static_assert(IP_CT_APART == (CG_F_SKIP | CG_F_UNKNOWN), "contexts whose blocks have counters of their own");
_Static_assert(IP_CT_UNNAMED == CG_F_UNKNOWN, "functions that have parts");

#define COUNTER_BYTES (IP_CT_MAX_WORDS * sizeof(u64))

/* ---- From the state, and back ------------------------------------------------------------------- */

static u64 frame_at(const struct thread *t, u64 depth) {
    return (u64)t->shared.frames + depth * sizeof(struct cg_frame) - sizeof(struct cg_frame);
}

static void settle_left(struct thread *t) {
    struct cg_context *x = t->shared.context;
    for (u32 i = 0; i < t->n_left; i++) {
        t->shared.context = t->left[i].context;
        cg_counter_of(t, t->left[i].block)->runs[t->left[i].done]++;
    }
    t->n_left = 0;
    t->shared.context = x;
}

static u64 ct_total(const struct tstate *ts) {
    u64 sum = 0;
    for (int i = 0; i < IP_CT_TOTALS; i++) sum += ts->ct_total[i];
    return sum;
}

static struct thread *take(struct tstate *ts) {
    struct thread *t = cg_thread_of(ts);
    t->shared.depth = (ts->ct_top - frame_at(t, 0)) / sizeof(struct cg_frame);
    t->shared.total[0] = t->collects && cg_root.instrument ? ct_total(ts) : t->frozen;
    t->shared.context = (struct cg_context *)ts->ct_context;
    settle_left(t);
    return t;
}

/* Everything but where the next block is counted. */
static void give_back(struct tstate *ts, struct thread *t) {
    bool counts = t->collects && cg_root.instrument;
    ts->ct_top = frame_at(t, t->shared.depth);
    ts->ct_limit = frame_at(t, t->frames_room);
    for (int i = 1; i < IP_CT_TOTALS; i++) ts->ct_total[i] = 0;
    ts->ct_total[0] = t->frozen = t->shared.total[0];
    ts->ct_context = (u64)t->shared.context;
    ts->ct_popped = 0;
    ts->ct_slow = !counts;
}

/* The next block arrives, wherever it is. */
static void nowhere(struct tstate *ts) {
    struct thread *t = cg_thread_of(ts);
    ts->ct_base = (u64)t->sink;
    ts->ct_where = IP_CT_NOWHERE;
}

/* ---- Arrivals -------------------------------------------------------------------------------------- */

static u32 where_of(const struct ip_tr_block *b) { return b->where ? b->where : IP_CT_BLOCK | (u32)(u64)b; }

/* Does all that shares counters with the block belong to this context, at its level? */
static bool is_home(struct thread *t, struct cg_context *x, const struct ip_tr_block *b) {
    const struct cg_family *f = x->family;
    if (x->base && x->where == b->where) return true;
    if (!b->where || x->caller || f->depth || x->function != b->function) return false;
    if (b->where & IP_CT_BLOCK && b->home != f->function->entry) return false;
    u64 **counters = &t->shared.levels[x->level];
    if (!*counters) *counters = rt_pages(COUNTER_BYTES);
    x->base = (u64)*counters;
    x->where = b->where;
    return true;
}

/* Count the block in the thread's context. */
static void place(struct tstate *ts, struct thread *t, const struct ip_tr_block *b) {
    struct cg_context *x = t->shared.context;
    if (!t->collects) {
        nowhere(ts);
    } else if (is_home(t, x, b)) {
        ts->ct_base = x->base;
        ts->ct_where = x->where;
    } else {
        struct cg_counter *c = cg_counter_of(t, b);
        if (!c->counts) {
            u64 *fresh = cg_alloc(t, b->n_words * sizeof *fresh);
            __atomic_store_n(&c->counts, fresh, __ATOMIC_RELEASE);
        }
        ts->ct_base = (u64)c->counts - b->first_word * sizeof *c->counts;
        ts->ct_where = b->where ? IP_CT_NOWHERE : where_of(b);
    }
}

static struct cg_pair *pair_for(const struct thread *t, u32 from, u32 block, u32 context) {
    u32 hash = (block + 2 * from + context) * 0x9e3779b1u;
    return &t->pairs[hash >> 14 & (t->n_pairs - 1)];
}
_Static_assert(CG_PAIRS_MOST == 1 << (32 - 14), "pair_for");

/* Where another has been, that goes to its neighbour: of two that meet in one place both stay. */
static void put_pair(struct thread *t, const struct cg_pair *p) {
    struct cg_pair *at = pair_for(t, p->from, p->block, p->context), *neighbour = &t->pairs[(u64)(at - t->pairs) ^ 1];
    t->lost_pairs += at->block && neighbour->block;
    *neighbour = *at;
    *at = *p;
}

static void make_pairs(struct tstate *ts, struct thread *t, u64 n) {
    struct cg_pair *old = t->pairs;
    u64 n_old = t->n_pairs;
    t->pairs = rt_pages(n * sizeof *t->pairs);
    t->n_pairs = n;
    t->lost_pairs = 0;
    for (u64 i = 0; i < n_old; i++)
        if (old[i].block) put_pair(t, &old[i]);
    if (old) rt_free_pages(old, n_old * sizeof *old);
    ts->ct_pairs = (u64)t->pairs;
    ts->ct_mask = (n - 1) * sizeof *t->pairs;
}

static void remember(struct tstate *ts, struct thread *t, u32 from, const struct ip_tr_block *b, struct cg_context *x,
                     u64 depth) {
    struct cg_pair p = {.from = from, .block = (u32)(u64)b, .context = (u32)(u64)x, .to = t->shared.context};
    const struct ip_tr_block *caller = (const struct ip_tr_block *)(u64)(from & ~(u32)IP_CT_KIND);
    if (((u64)x ^ (u64)t->nothing) >> 32) return; /* low halves tell contexts apart near each other only */
    p.base = ts->ct_base;
    p.where = ts->ct_where;
    if (t->shared.depth == depth && t->shared.context == x) {
        p.flags = CG_P_STAY;
    } else if (t->shared.depth == depth + 1 && from) {
        const struct cg_frame *f = cg_top(t);
        if (f->flags & ~(u32)CG_P_FRAME || f->context != x || f->insn > UINT16_MAX) return;
        p.flags = (u8)f->flags;
        p.call = f->call;
        p.counter = f->counter;
        p.insn = (u16)f->insn;
        p.active = f->active;
        /* What it returns to has its counters where the caller has, unless that has not those of its function. */
        p.back = x->base && x->where == caller->where ? x->where : IP_CT_NOWHERE;
        if (f->active == &t->nobody) {
            p.flags |= CG_P_ABOVE;
        } else {
            p.level = (u8)p.to->level;
            if (p.level >= cg_last_level(f->call->function)) p.flags |= CG_P_ABOVE;
        }
    } else {
        return;
    }
    put_pair(t, &p);
    if (t->lost_pairs > t->n_pairs / 4 && t->n_pairs < CG_PAIRS_MOST) make_pairs(ts, t, 2 * t->n_pairs);
}

void cg_arrive(struct tstate *ts, const struct ip_tr_block *b) {
    struct thread *t = take(ts);
    if (!cg_counts(ts)) {
        give_back(ts, t);
        ts->ct_from = 0;
        ts->ct_base = (u64)t->sink;
        ts->ct_where = where_of(b);
        return;
    }
    struct cg_context *x = t->shared.context;
    u64 depth = t->shared.depth, sp = ts->gpr[IP_RSP];
    const struct cg_frame *popped = (const struct cg_frame *)ts->ct_popped;
    u32 key = (u32)ts->ct_from;
    const struct ip_tr_block *from = (const struct ip_tr_block *)(u64)(key & ~(u32)IP_CT_KIND);
    u32 done = (u32)(ts->ct_from >> 32);
    bool jumps = !from || popped;
    if (popped) {
        t->last = popped->counter;
        t->done = popped->insn + 1;
    } else if (from && x) {
        t->last = cg_counter_of(t, from);
        t->done = done ? done : from->n_insns;
        t->sp = from->end == IP_TR_RET ? sp - 8 : from->end == IP_TR_JMPI ? sp : sp + 8;
    } else if (x) {
        t->last = cg_counter_of(t, b);
        t->done = 0;
    } else {
        t->last = 0;
        jumps = false;
    }
    ts->ct_from = 0;
    bool pops = x && x->function & CG_F_POP_ON_JUMP;
    if (jumps)
        cg_jumped(t, b);
    else
        cg_enter(t, b);
    give_back(ts, t);
    place(ts, t, b);
    /* After a return that arrive.S has gone, only the block is new. */
    bool stays = popped && t->shared.depth == depth && t->shared.context == x;
    bool plain = !popped && (!from || from->end != IP_TR_RET) && !pops;
    if (x && t->collects && !done && (plain || stays)) remember(ts, t, popped ? 0 : key, b, x, depth);
}

/* Instructions that a repeated string instruction counts as, beside one: each turn, and the look that finds none
 * left; cmps and scas may end before that look. */
u64 cg_turns(const struct ip_tr_insn *insn, u64 before, u64 after) {
    u64 turns = before - after;
    u8 op = 0;
    for (u32 k = 0; k < insn->len && k < 15; k++) {
        op = insn->bytes[k];
        if (op >= 0xa4 && op <= 0xaf) break;
        if (op >= 0x6c && op <= 0x6f) break;
    }
    bool compares = (op & 0xfe) == 0xa6 || (op & 0xfe) == 0xae;
    return compares && after ? turns - 1 : turns;
}

void cg_turned(struct tstate *ts, const struct ip_tr_block *b, u64 insn) {
    struct thread *t = take(ts);
    u64 turns = cg_turns(&tr_insns(b)[insn], ts->ct_turns, ts->gpr[IP_RCX]);
    if (!turns || !t->collects || !cg_root.instrument || !t->shared.context) return;
    cg_extra(t, cg_counter_of(t, b), insn)[0] += turns;
    ts->ct_total[0] += turns;
}

/* ---- Life -------------------------------------------------------------------------------------------- */

void cg_line_begin(struct tstate *ts) {
    struct thread *t = cg_thread_of(ts);
    if (!t->pairs) make_pairs(ts, t, CG_PAIRS_LEAST);
    if (!t->sink) t->sink = rt_pages(COUNTER_BYTES);
    ts->ct_pairs = (u64)t->pairs;
    ts->ct_mask = (t->n_pairs - 1) * sizeof *t->pairs;
    ts->ct_from = 0;
    t->shared.context = 0;
    t->shared.depth = 0;
    give_back(ts, t);
    nowhere(ts);
    __atomic_store_n(&t->shared.ts, (u64)ts, __ATOMIC_RELEASE);
}

void cg_line_end(struct tstate *ts) {
    struct thread *t = take(ts);
    t->shared.ts = 0;
    cg_unwind(t);
    give_back(ts, t);
    nowhere(ts);
}

/* The host's signal handler calls it: nothing is allocated. */
void cg_line_left(struct tstate *ts, const struct ip_block *b, const struct ip_point *point) {
    if (!ts->ct_context || !tr_is_recorded(b, point)) return;
    const struct ip_tr_block *block = (const struct ip_tr_block *)(u64)b->trace;
    if (point->guest_off >= block->n_insns) return;
    struct thread *t = cg_thread_of(ts);
    ((u64 *)ts->ct_base)[block->first_word]--;
    ts->ct_total[0] -= block->n_insns - point->guest_off;
    if (t->collects && cg_root.instrument && t->n_left < CG_LEFT)
        t->left[t->n_left++] = (struct cg_left){block, (struct cg_context *)ts->ct_context, point->guest_off};
    /* Soon there is room again. */
    ts->ct_where = IP_CT_NOWHERE;
    ts->ct_slow = 1;
}

void cg_line_signal(struct tstate *ts, u64 sp) {
    struct thread *t = take(ts);
    if (cg_counts(ts)) {
        t->sp = ts->ct_from;
        cg_signal(t, sp);
    }
    ts->ct_from = 0;
    give_back(ts, t);
    nowhere(ts);
}

void cg_line_sigreturn(struct tstate *ts) {
    struct thread *t = take(ts);
    ts->ct_from = 0;
    if (cg_counts(ts)) {
        t->sp = 0;
        cg_sigreturn(t);
        ts->ct_from = t->sp;
    }
    give_back(ts, t);
    nowhere(ts);
}

void cg_line_collect(struct tstate *ts, bool on) {
    struct thread *t = take(ts);
    t->collects = on;
    give_back(ts, t);
    nowhere(ts);
}

void cg_line_poll(struct tstate *ts) {
    struct thread *t = cg_thread_of(ts);
    bool was = !ts->ct_slow || !t->collects;
    if (!t->n_left && was == cg_counts(ts)) return;
    t = take(ts);
    give_back(ts, t);
    nowhere(ts);
}
