/* Records of block runs become counts.  Nearly all runs are of a block that ran last in the present context, after one
 * that cannot have left it: these take the loop in tr_consume, and nothing else. */
#include "runtime/base/rt.h"
#include "tools/callgrind/blocks.h"
#include "tools/callgrind/client/simulate.h"
#include "trace/trace.h"

static struct cg_call *jump_to(struct thread *t, struct cg_counter *c, u32 insn, u64 target) {
    struct cg_call *j = c->calls;
    while (j && !(j->flags & CG_JUMP && j->insn == insn && j->entry == target)) j = j->next;
    return j ? j : cg_new_call(t, c, (struct cg_call){.entry = target, .insn = insn, .flags = CG_JUMP});
}

static void count_turns(struct thread *t, struct cg_counter *c, const u64 *words, u64 done) {
    const struct ip_tr_insn *insn = tr_insns(c->block);
    for (u64 i = 0; i < done; i++) {
        if (!insn[i].rep || insn[i].rep_words == 0xffff) continue;
        const u64 *found = words + insn[i].rep_words;
        u64 turns = found[0] - found[1], more = cg_more_insns(&insn[i], found);
        if (cg.jumps) {
            /* Each turn jumps back to the look for another one; cmps and scas jump by their flag, after a turn. */
            struct cg_call *again = jump_to(t, c, (u32)i, insn[i].pc);
            again->count += turns + !cg_compares(&insn[i]);
            again->cost[0] += turns - cg_ended_by_flag(&insn[i], found);
        }
        if (!more) continue;
        cg_extra(t, c, i)[cg_place(CG_IR)] += more;
        t->shared.total[cg_place(CG_IR)] += more;
    }
}

struct cg_place *cg_place_block(struct thread *t, const struct ip_tr_block *b) {
    struct cg_place *at = cg_place_at(t->sim->places, (u32)(u64)b);
    if (at->context == t->shared.context) return at;
    if (!at->exits) cg_plan_place(t, at, b);
    struct cg_counter *c = at->counter = cg_counter_of(t, b);
    at->leaves = c->after != t->shared.context;
    at->context = t->shared.context;
    if (!c->costs) {
        const struct cg_costs *costs = cg_plan_at(at)->costs;
        struct cg_known *k = cg_alloc(t, sizeof *k + costs->n_branches * sizeof *c->missed);
        k->sp_word = b->sp_word == 0xffffffff ? 0 : b->sp_word;
        k->sp_disp = b->sp_disp;
        c->missed = (u64 *)(k + 1);
        __atomic_store_n(&c->costs, costs, __ATOMIC_RELEASE);
    }
    return at;
}

static inline void add(struct thread *t, enum cg_event e, u64 n) {
    if (cg_place(e) >= 0) t->shared.total[cg_place(e)] += n;
}

/* From t->last to the block: where it runs from now on. */
static void pass(struct thread *t, const struct ip_tr_block *b) {
    struct cg_counter *last = t->last;
    u64 last_done = t->done;
    cg_settle(t, b);
    cg_enter(t, b);
    if (cg.jumps && last && t->collects && last_done == last->n && last->block->end == IP_TR_JMPI &&
        t->shared.context == last->context)
        jump_to(t, last, (u32)last_done - 1, b->pc)->count++;
}

static inline u64 sp_after(const struct cg_counter *c, const u64 *record) {
    return record[1 + c->block->sp_word] + (u64)(i64)c->block->sp_disp;
}

#define INLINE static inline __attribute__((always_inline))

/* What the loop below has in registers. */
struct state {
    struct cg_counter *last;
    struct cg_place *last_at; /* its place */
    const u64 *last_p;        /* its record, 0: that of t->sp */
    u64 done, history, clock, i_line;
    u64 insns, sum, surprises; /* not yet in the thread's totals */
};

/* What generated code counts, from it and to it. */
INLINE void take_counts(const struct cg_sim *sim, struct state *s) {
    s->insns = CG_INSNS(sim->insns);
    s->sum = sim->sum + CG_BRANCHES_OF(sim->insns) * CG_BRANCH;
    s->surprises = sim->surprises;
}

INLINE void give_counts(struct cg_sim *sim, const struct state *s) {
    sim->insns = CG_INSNS_BRANCHES(s->insns, CG_BRANCHES(s->sum));
    sim->sum = s->sum & (CG_BRANCH - 1);
    sim->surprises = s->surprises;
}

INLINE void add_totals(struct thread *t, struct state *s, const bool caches) {
    t->shared.total[0] += s->insns;
    if (caches) {
        t->shared.total[cg_place(CG_DR)] += CG_READS(s->sum);
        t->shared.total[cg_place(CG_DW)] += CG_WRITES(s->sum);
    }
    if (cg.branches) {
        t->shared.total[cg_place(CG_BC)] += CG_BRANCHES(s->sum);
        t->shared.total[cg_place(CG_BCM)] += s->surprises;
        t->shared.total[cg_place(CG_BI)] += t->sim->indirects;
        t->shared.total[cg_place(CG_BIM)] += t->sim->misdirected;
        t->sim->indirects = t->sim->misdirected = 0;
    }
    s->insns = s->sum = s->surprises = 0;
}

INLINE void save(struct thread *t, struct state *s, const bool caches) {
    if (caches) {
        t->sim->d1->clock = t->sim->i1->clock = s->clock;
    }
    t->sim->i_line = s->i_line;
    t->sim->history = s->history;
    add_totals(t, s, caches);
    t->last = s->last;
    t->done = s->done;
    if (s->last_p && s->last->block->sp_word != 0xffffffff) t->sp = sp_after(s->last, s->last_p);
}

INLINE void load(struct thread *t, struct state *s, const bool caches) {
    /* Both go by one clock here. */
    s->clock = 0;
    if (caches) s->clock = t->sim->d1->clock > t->sim->i1->clock ? t->sim->d1->clock : t->sim->i1->clock;
    s->i_line = t->sim->i_line;
    s->history = t->sim->history;
}

INLINE void branch(struct cg_sim *sim, struct state *s, struct cg_counter *c, u32 at, u64 number, u64 taken) {
    u64 surprise = cg_predict(sim->conditional, &s->history, at, taken);
    c->missed[number] += surprise;
    s->surprises += surprise;
}

/* Those from k up to n. */
INLINE void accesses(struct thread *t, struct state *s, const struct cg_place *at, const u64 *p, u64 k, u64 n,
                     const u32 shift) {
    const struct cg_access *const first = at->accesses, *end = first + n;
    struct cg_cache *const d1 = t->sim->d1;
    for (const struct cg_access *a = first + k; a < end; a++) {
        u64 addr = p[1 + a->base] + (u64)a->disp;
        if (a->kind == CG_INDEXED)
            addr += p[1 + a->index] << a->scale;
        else if (a->kind != CG_BASE)
            addr = cg_other_address(t, at, (u64)(a - first), p + 1);
        u64 line = addr >> shift;
        struct cg_way *w = cg_guess(d1, line);
        if ((w->line ^ line) | ((addr + a->more) >> shift ^ line))
            s->clock = cg_data(t, at, (u64)(a - first), addr, s->clock);
        else
            w->used = ++s->clock;
    }
}

/* The lines that the run is fetched from.  Before a line that is not there, the accesses of what is fetched before it
 * are made: the last level sees them in their order.  How many that are. */
INLINE u64 fetch(struct thread *t, struct state *s, struct cg_place *at, const u64 *p, u64 n, const u32 shift) {
    struct cg_cache *const i1 = t->sim->i1;
    struct cg_line *l = cg_plan_at(at)->lines;
    u64 made = 0;
    for (u64 i = 0; i < n; i++) {
        struct cg_way *w = cg_way_at(i1, l[i].way);
        if (w->line == l[i].line) {
            w->used = ++s->clock;
            continue;
        }
        accesses(t, s, at, p, made, l[i].before, shift);
        made = l[i].before;
        s->clock = cg_fetch(t, at, i, n, s->clock);
    }
    s->i_line = l[n - 1].line;
    if (n == 1) at->way = (u16)l[0].way;
    return made;
}

/* An indirect jump or call. */
INLINE void indirect(struct thread *t, const struct state *s, u64 pc) {
    if (!cg.branches) return;
    u64 number = s->last_at->end_branch, *target = &t->sim->indirect[s->last_at->branches[number]];
    u64 surprise = *target != pc;
    t->shared.total[cg_place(CG_BI)]++;
    t->shared.total[cg_place(CG_BIM)] += surprise;
    s->last->missed[number] += surprise;
    *target = pc;
}

/* A run of which nobody has the costs: caches and predictors go on.  It is not special. */
static void go_on(struct thread *t, struct cg_place *at, const u64 *p, const struct cg_exit *e) {
    struct state s;
    load(t, &s, cg.caches);
    if (cg.caches) {
        u64 made = 0, line = at->pc >> t->sim->i1->shift;
        u32 shift = t->sim->d1->shift;
        if (e->n_lines > (line == s.i_line)) made = fetch(t, &s, at, p, e->n_lines, shift);
        accesses(t, &s, at, p, made, e->n_accesses, shift);
        t->sim->d1->clock = t->sim->i1->clock = s.clock;
        t->sim->i_line = s.i_line;
    }
    if (!cg.branches) return;
    for (u64 k = 0; k < e->n_passed + e->taken; k++)
        cg_predict(t->sim->conditional, &s.history, at->branches[k], k == e->n_passed);
    t->sim->history = s.history;
}

/* For --dump-every-bb. */
static void count_blocks(struct thread *t, const struct ip_tr_block *b, const u64 *words, u64 done) {
    const struct ip_tr_insn *insn = tr_insns(b);
    u64 before = t->shared.n_blocks, n = 1;
    for (u64 i = 0; i < done; i++) {
        n += i + 1 < done && cg_ends_block(&insn[i]);
        if (insn[i].rep && insn[i].rep_words != 0xffff) n += cg_more_insns(&insn[i], words + insn[i].rep_words);
    }
    t->shared.n_blocks += n;
    if (before / cg.dump_every != t->shared.n_blocks / cg.dump_every) cg_ask_dump(t, 0, 0);
}

/* The run itself. */
static void run(struct thread *t, struct cg_place *at, const struct ip_tr_block *b, const u64 *words, u64 done) {
    struct cg_counter *c = at->counter;
    if (t->collects) {
        const struct cg_exit *e = &at->exits[done];
        c->runs[done]++;
        add(t, CG_IR, done);
        add(t, CG_DR, CG_READS(e->sum));
        add(t, CG_DW, CG_WRITES(e->sum));
        add(t, CG_BC, CG_BRANCHES(e->sum));
        if (c->repeats) count_turns(t, c, words, done);
        if (cg.caches || cg.branches || e->special) cg_simulate(t, at, words, done);
    } else if (cg.caches || cg.branches) {
        if (at->exits[done].special)
            cg_simulate(t, at, words, done);
        else
            go_on(t, at, words - 1, &at->exits[done]);
    }
    if (cg.dump_every) count_blocks(t, b, words, done);
    t->last = c;
    t->done = done;
    if (b->sp_word != 0xffffffff) t->sp = words[b->sp_word] + (u64)(i64)b->sp_disp;
}

/* ---- Calls that have been made before, and returns ---------------------------------------------------------------
 * What cg_enter does, for the usual case.  false: nothing has been done. */

#define INDIRECT 0x100 /* flag of the functions below: by an indirect jump or call, to be settled */

/* The vector of totals has one of a few lengths. */
#define EACH_EVENT(statement)                                                                                          \
    if (cg.n_events == 13) {                                                                                           \
        _Pragma("GCC unroll 13") for (u32 i = 0; i < 13; i++) statement;                                               \
    } else {                                                                                                           \
        for (u32 i = 0; i < cg.n_events; i++) statement;                                                               \
    }

/* Of the function that the block begins, by an instruction of the last block; the frame ends where RSP is sp. */
INLINE bool enter_known(struct thread *t, struct state *s, struct cg_place *at, u64 sp, u32 insn, u32 flags) {
    struct cg_counter *c = s->last;
    struct cg_function *f = at->exits ? cg_plan_at(at)->function : 0;
    if (!f || !cg_knows_context(f) || f->number & CG_F_EVENTFUL || t->shared.depth == t->frames_room) return false;
    bool skip = f->number & CG_F_SKIP && !cg_is_unknown(f);
    u64 level = cg_next_level(f);
    struct cg_call *call = c->calls;
    while (call && (call->function != f || call->insn != insn || call->flags & CG_JUMP ||
                    (skip ? !call->callee->caller : call->callee->caller || call->callee->level != level)))
        call = call->next;
    if (!call) return false;
    struct cg_context *x = call->callee;
    if (flags & INDIRECT) indirect(t, s, at->pc);
    t->shared.depth++;
    struct cg_frame *to = cg_top(t);
    to->sp = sp;
    to->context = t->shared.context;
    to->counter = c;
    to->call = skip ? t->nothing : call;
    to->active = skip ? &t->nobody : f->active;
    to->insn = insn;
    to->flags = (skip ? CG_SKIP : 0) | (flags & CG_TAIL);
    EACH_EVENT(to->began[i] = t->shared.total[i])
    call->count += !skip;
    *to->active += 1;
    t->shared.context = x;
    return true;
}

INLINE bool call_again(struct thread *t, struct state *s, const struct ip_tr_block *b, struct cg_place *at, u64 sp) {
    const struct ip_tr_block *last = s->last->block;
    if (last->end == IP_TR_CALL && last->target == last->next) return false;
    if (!enter_known(t, s, at, sp, s->last->n - 1u, last->end == IP_TR_CALLI ? INDIRECT : 0)) return false;
    struct cg_function *f = cg_plan_at(at)->function;
    if (!cg_is_unknown(f)) f->entry = b->pc;
    return true;
}

/* A jump into another function. */
INLINE bool jump_again(struct thread *t, struct state *s, const struct ip_tr_block *b, struct cg_place *at, u32 flags) {
    const struct cg_function *running = t->shared.context->family->function;
    if (!t->shared.depth || running->number & CG_F_POP_ON_JUMP || !s->done) return false;
    const struct cg_frame *top = cg_top(t);
    if (top->flags & CG_TAIL && cg_is_within(top->context, b)) return false;
    return enter_known(t, s, at, top->sp, (u32)s->done - 1, CG_TAIL | flags);
}

/* Into the function that called, or one that it had jumped to. */
INLINE bool come_back(struct thread *t, const struct ip_tr_block *b, u64 sp) {
    u64 depth = t->shared.depth, bytes = t->shared.frame_bytes;
    if (!depth) return false;
    struct cg_frame *top = cg_top(t), *f = top;
    if (f->sp > sp) return false;
    for (;; f = (struct cg_frame *)((u8 *)f - bytes)) {
        bool nobody = f->active == &t->nobody;
        if (f->flags & (CG_SIGNAL | CG_TOGGLE | CG_UNSEEN) || (nobody && !(f->flags & CG_SKIP)) ||
            (!nobody && f->call->function->number & CG_F_DUMP_AFTER))
            return false;
        if (--depth == 0 || ((struct cg_frame *)((u8 *)f - bytes))->sp > sp) break;
    }
    if (!cg_is_within(f->context, b)) return false;
    t->shared.context = f->context;
    t->shared.depth = depth;
    for (;; top = (struct cg_frame *)((u8 *)top - bytes)) {
        u64 *cost = top->call->cost;
        EACH_EVENT(cost[i] += t->shared.total[i] - top->began[i])
        --*top->active;
        if (top == f) return true;
    }
}

/* From the last block to another function or back, or by an indirect jump within one.  The totals are the thread's. */
INLINE bool leave(struct thread *t, struct state *s, const struct ip_tr_block *b, struct cg_place *at) {
    u64 sp = s->last_p ? sp_after(s->last, s->last_p) : t->sp;
    if (cg.skip_direct_recursion) return false;
    switch (s->last_at->end) {
    case IP_TR_CALL:
    case IP_TR_CALLI: return call_again(t, s, b, at, sp);
    case IP_TR_RET: return come_back(t, b, sp + 8);
    case IP_TR_JMPI:
        if (t->shared.depth && cg_top(t)->sp <= sp) return false;
        if (at->context != t->shared.context && !cg_is_within(t->shared.context, b))
            return jump_again(t, s, b, at, INDIRECT);
        indirect(t, s, b->pc);
        if (cg.jumps) jump_to(t, s->last, (u32)s->done - 1, b->pc)->count++;
        return true;
    default: return false;
    }
}

/* The same, or from one block to another in what is not the context that it ran in last. */
INLINE bool cross(struct thread *t, struct state *s, const struct ip_tr_block *b, struct cg_place *at, bool complete,
                  const bool caches) {
    if (complete && s->last_at->leaves) {
        add_totals(t, s, caches);
        if (!leave(t, s, b, at)) return false;
    } else if (complete && s->last_at->end == IP_TR_JCC) {
        return false;
    } else if (!cg_is_within(t->shared.context, b)) {
        add_totals(t, s, caches);
        if (cg.skip_direct_recursion || !jump_again(t, s, b, at, 0)) return false;
    }
    if (at->context != t->shared.context) cg_place_block(t, b);
    return true;
}

/* ---- Generated code ---------------------------------------------------------------------------------------------- */

INLINE void tell_context(struct thread *t) {
    t->sim->context = t->shared.context;
    t->sim->limit = cg_top(t)->sp;
}

struct cg_place *cg_cross(struct thread *t, struct cg_place *last, const u64 *p, const u64 *last_p) {
    struct cg_sim *sim = t->sim;
    if ((u32)*p < IP_TR_EVENTS) return 0;
    struct cg_place *at = cg_place_at(sim->places, (u32)*p);
    struct state s = {.last = last->counter, .last_at = last, .last_p = last_p, .done = tr_completed(*last_p)};
    u64 depth = t->shared.depth;
    bool complete = s.done == last->n;
    take_counts(sim, &s);
    bool known = cross(t, &s, (const struct ip_tr_block *)(u64)(u32)*p, at, complete, cg.caches);
    give_counts(sim, &s);
    if (!known) return 0;
    if (complete && t->shared.depth > depth) cg_learn(t, s.last, at);
    tell_context(t);
    return at;
}

/* Runs of a block that are followed by the loop before they have code of their own. */
#define HOT 64

INLINE void want(struct cg_sim *sim, struct cg_place *at, u64 done) {
    if (sim->n_wanted < CG_WANTED) sim->wanted[sim->n_wanted++] = (struct cg_wanted){at, done};
}

/* The record at p, and those that follow and have code.  sim->p: the first that has not; true: it is a run in the
 * context, and what came before it is settled. */
INLINE bool generated(struct thread *t, struct state *s, struct cg_place *at, const u64 *p, u64 code) {
    struct cg_sim *sim = t->sim;
    sim->p = p;
    sim->clock = s->clock;
    sim->history = s->history;
    give_counts(sim, s);
    tell_context(t);
    sim->fs = t->fs;
    bool settled = cg_run(sim, at, code);
    s->clock = sim->clock;
    s->history = sim->history;
    take_counts(sim, s);
    s->i_line = ~0ull;
    s->last_p = sim->last;
    s->last_at = cg_place_at(sim->places, (u32)*sim->last);
    s->last = s->last_at->counter;
    s->done = tr_completed(*sim->last);
    return settled;
}

/* Records up to an event.  The shifts are those of D1's and I1's lines, constants where they are usual. */
INLINE const u64 *loop(struct thread *t, const u64 *p, const u64 *to, const u32 shift, const u32 i_shift,
                       const bool caches) {
    struct cg_sim *const sim = t->sim;
    struct cg_cache *const i1 = sim->i1;
    struct cg_place *const places = sim->places;
    struct state s = {.last = t->last, .last_at = cg_place_at(places, (u32)(u64)t->last->block), .done = t->done};
    bool complete = s.done == s.last->n;
    load(t, &s, caches);
    while (p < to) {
        u32 number = (u32)*p;
        if (number < IP_TR_EVENTS) break;
        const struct ip_tr_block *b = (const struct ip_tr_block *)(u64)number;
        struct cg_place *at = cg_place_at(places, number);
        u64 now = tr_completed(*p);
        /* Behind the last record anything may lie, and nothing comes of it. */
        __builtin_prefetch(cg_place_at(places, (u32)p[1 + (*p >> 56)]));
        if ((complete && s.last_at->leaves) || at->context != t->shared.context) {
            if (!cross(t, &s, b, at, complete, caches)) {
                save(t, &s, caches);
                pass(t, b);
                load(t, &s, caches);
                cg_plan_at(cg_place_block(t, b))->function = t->slots[b->number].function;
                if (!t->collects) {
                    run(t, at, b, p + 1, now);
                    return p + 1 + b->n_words;
                }
            }
        } else if (complete && s.last_at->end == IP_TR_JCC) {
            u64 taken = at->pc == s.last_at->target, k = s.last_at->end_branch;
            s.last->taken += taken;
            if (cg.branches) branch(sim, &s, s.last, s.last_at->branches[k], k, taken);
        }
    here:;
        struct cg_counter *c = at->counter;
        const struct cg_exit *e = &at->exits[now];
        if (e->code != (u64)cg_settled) {
            bool settled = generated(t, &s, at, p, e->code);
            p = sim->p;
            complete = s.done == s.last->n;
            if (!settled) continue;
            at = cg_place_at(places, (u32)*p);
            b = (const struct ip_tr_block *)(u64)(u32)*p;
            now = tr_completed(*p);
            goto here;
        }
        if (e->special) {
            save(t, &s, caches);
            run(t, at, b, p + 1, now);
            load(t, &s, caches);
        } else {
            if (++c->runs[now] == HOT) want(sim, at, now);
            s.insns += now;
            s.sum += e->sum;
            if (caches) {
                u64 line = at->pc >> i_shift, made = 0;
                if (line != s.i_line || e->n_lines > 1) {
                    struct cg_way *w = cg_way_at(i1, at->way);
                    if (e->n_lines == 1 && w->line == line) {
                        w->used = ++s.clock;
                        s.i_line = line;
                    } else if (e->n_lines) {
                        made = fetch(t, &s, at, p, e->n_lines, shift);
                    }
                }
                accesses(t, &s, at, p, made, e->n_accesses, shift);
            }
            u64 k = 0;
            for (; k < e->n_passed; k++) branch(sim, &s, c, at->branches[k], k, 0);
            if (e->taken) branch(sim, &s, c, at->branches[k], k, 1);
        }
        s.last_p = p;
        s.last = c;
        s.last_at = at;
        s.done = now;
        complete = now == at->n;
        p += 1 + (*p >> 56);
    }
    save(t, &s, caches);
    return p;
}

__attribute__((target("bmi2"))) static const u64 *loop_usual(struct thread *t, const u64 *p, const u64 *to) {
    return loop(t, p, to, 6, 6, true);
}
__attribute__((target("bmi2"))) static const u64 *loop_any(struct thread *t, const u64 *p, const u64 *to) {
    return loop(t, p, to, t->sim->d1->shift, t->sim->i1->shift, true);
}
__attribute__((target("bmi2"))) static const u64 *loop_no_caches(struct thread *t, const u64 *p, const u64 *to) {
    return loop(t, p, to, 6, 6, false);
}

static const u64 *event(struct thread *t, const u64 *p) {
    if ((u32)*p == IP_TR_FSBASE) {
        t->fs = p[1];
        t->gs = p[2];
    }
    return p + 1 + (*p >> 32);
}

void tr_consume(struct tstate *ts, const u64 *from, const u64 *to) {
    if (!cg_counts(ts)) return;
    struct thread *t = cg_thread_of(ts);
    const u64 *(*const way)(struct thread *, const u64 *, const u64 *) = !cg.caches         ? loop_no_caches
                                                                         : cg.d1.line == 64 ? loop_usual
                                                                                            : loop_any;
    const u64 *p = from;
    cg_sim_of(t);
    *(u64 *)to = IP_TR_END;
    if (t->sim->n_wanted) cg_generate(t);
    while (p < to) {
        if ((u32)*p < IP_TR_EVENTS) {
            if (!*p) break;
            p = event(t, p);
        } else if (t->last && t->collects && !cg.dump_every) {
            p = way(t, p, to);
        } else {
            const struct ip_tr_block *b = (const struct ip_tr_block *)(u64)(u32)*p;
            pass(t, b);
            run(t, cg_place_block(t, b), b, p + 1, tr_completed(*p));
            p += 1 + b->n_words;
        }
    }
    cg_release_last_level(t);
}
