/* Records of block runs become counts.  Nearly all runs are of a block that ran last in the present context, after one
 * that cannot have left it: these take the loop in tr_consume, and nothing else. */
#include "runtime/base/rt.h"
#include "tools/callgrind/client/callgrind.h"
#include "trace/trace.h"

/* Instructions that a repeated string instruction counts as, beside one: each turn, and the look that finds none
 * left; cmps and scas may end before that look. */
static void count_turns(struct thread *t, struct cg_counter *c, const u64 *words, u64 done) {
    const struct ip_tr_insn *insn = cg_insns(c->block);
    for (u64 i = 0; i < done; i++) {
        if (!insn[i].rep || insn[i].rep_words == 0xffff) continue;
        u64 before = words[insn[i].rep_words], after = words[insn[i].rep_words + 1];
        u64 turns = before - after;
        u8 op = 0;
        for (u32 k = 0; k < insn[i].len && k < 15; k++) {
            op = insn[i].bytes[k];
            if (op >= 0xa4 && op <= 0xaf) break;
            if (op >= 0x6c && op <= 0x6f) break;
        }
        bool compares = (op & 0xfe) == 0xa6 || (op & 0xfe) == 0xae;
        if (compares && after) turns--;
        if (!turns) continue;
        cg_extra(t, c, i)[cg_place(CG_IR)] += turns;
        t->shared.total[cg_place(CG_IR)] += turns;
    }
}

/* What the way from the last block to this one says about the last one's branch. */
static void settle_branch(struct thread *t, const struct ip_tr_block *b) {
    struct cg_counter *c = t->last;
    u64 last = t->done ? t->done - 1 : 0;
    if (t->done < c->n || !t->collects) return;
    if (c->block->end == IP_TR_JCC) {
        bool taken = b->pc == c->block->target;
        c->taken += taken;
        if (cg.branches) cg_branch(t, c, last, taken);
    } else if (c->block->end == IP_TR_JMPI || c->block->end == IP_TR_CALLI) {
        if (cg.branches) cg_indirect(t, c, last, b->pc);
    }
}

static void note_jump(struct thread *t, struct cg_counter *c, u32 insn, u64 target) {
    for (struct cg_call *j = c->calls; j; j = j->next)
        if (j->flags & CG_JUMP && j->insn == insn && j->entry == target) {
            j->count++;
            return;
        }
    struct cg_call *j = cg_alloc(t, sizeof *j + (cg.n_events - 1) * sizeof j->cost[0]);
    j->entry = target;
    j->insn = insn;
    j->flags = CG_JUMP;
    j->count = 1;
    j->next = c->calls;
    __atomic_store_n(&c->calls, j, __ATOMIC_RELEASE);
}

/* ---- Calls that have been made before, and returns -------------------------------------------------------------
 * Where instructions are all that is counted, these take the short way: what cg_enter does, for the usual case.  false:
 * nothing has been done. */

static inline struct cg_frame *frame(struct thread *t, u64 number) {
    return (struct cg_frame *)t->shared.frames + number;
}

static bool call_again(struct thread *t, const struct ip_tr_block *b, const struct cg_slot *s) {
    struct cg_counter *c = t->last;
    struct cg_function *f = s->function;
    if (!f || f->callers || f->number & (CG_F_SKIP | CG_F_EVENTFUL) || t->shared.depth == t->frames_room) return false;
    const struct cg_family *y = f->families;
    u64 level = f->active, most = f->recursions < 8 ? f->recursions : 8;
    if (level >= most) level = most - 1;
    struct cg_context *x = y ? y->contexts[level] : 0;
    if (!x) return false;
    struct cg_call *call = c->calls;
    while (call && (call->callee != x || call->insn != c->n - 1)) call = call->next;
    if (!call || (c->block->end == IP_TR_CALL && c->block->target == c->block->next)) return false;
    struct cg_frame *to = frame(t, t->shared.depth++);
    to->sp = t->sp;
    to->context = t->shared.context;
    to->counter = c;
    to->call = call;
    to->function = f;
    to->insn = c->n - 1;
    to->flags = 0;
    to->began[0] = t->shared.total[0];
    call->count++;
    f->active++;
    if (!cg_is_unknown(f)) f->entry = b->pc;
    t->shared.context = x;
    return true;
}

static bool come_back(struct thread *t, const struct ip_tr_block *b) {
    u64 depth = t->shared.depth, sp = t->sp + 8;
    if (!depth || frame(t, depth - 1)->sp > sp || frame(t, depth - 1)->flags & CG_SIGNAL) return false;
    while (depth && frame(t, depth - 1)->sp <= sp && !(frame(t, depth - 1)->flags & CG_SIGNAL)) {
        struct cg_frame *f = frame(t, depth - 1);
        if (!f->call || !f->function || f->flags & CG_TOGGLE || f->function->number & CG_F_DUMP_AFTER) {
            cg_pop(t);
        } else {
            f->call->cost[0] += t->shared.total[0] - f->began[0];
            f->function->active--;
            t->shared.context = f->context;
            t->last = f->counter;
            t->done = f->insn + 1;
            t->shared.depth = depth - 1;
        }
        depth = t->shared.depth;
    }
    cg_jumped(t, b);
    return true;
}

static inline bool enter_again(struct thread *t, const struct ip_tr_block *b, const struct cg_slot *s) {
    const struct cg_counter *c = t->last;
    if (!c || cg.n_events > 1 || cg.skip_direct_recursion || !t->collects) return false;
    if (t->done == c->n) {
        switch (c->block->end) {
        case IP_TR_CALL:
        case IP_TR_CALLI: return call_again(t, b, s);
        case IP_TR_RET: return come_back(t, b);
        case IP_TR_JMPI:
            if (t->shared.depth && frame(t, t->shared.depth - 1)->sp <= t->sp) return false;
            break;
        default: break;
        }
    }
    return cg_is_within(t->shared.context, b);
}

/* A run that is not a matter of one increment. */
static void run(struct thread *t, const struct ip_tr_block *b, const u64 *words, u64 done) {
    struct cg_counter *last = t->last;
    u64 last_done = t->done;
    bool watch = cg.branches || cg.jumps;
    if (watch && last) settle_branch(t, b);
    if (!enter_again(t, b, &t->slots[b->number])) cg_enter(t, b);
    if (cg.jumps && last && t->collects && last_done == last->n && last->block->end == IP_TR_JMPI &&
        t->shared.context == last->context)
        note_jump(t, last, (u32)last_done - 1, b->pc);
    const struct cg_slot *s = &t->slots[b->number];
    struct cg_counter *c = s->context == t->shared.context ? s->counter : cg_counter_of(t, b);
    if (t->collects) {
        c->runs[done]++;
        t->shared.total[cg_place(CG_IR)] += done;
        if ((u64)s->context & CG_SLOW) {
            if (c->repeats) count_turns(t, c, words, done);
            if (cg.n_events > 1) cg_simulate(t, c, words, done);
        }
    }
    if (cg.branches && t->collects && done && done < c->n && cg_insns(b)[done - 1].kind == IP_TR_COND_JUMP)
        cg_branch(t, c, done - 1, true);
    if (cg.dump_every && ++t->shared.n_blocks % cg.dump_every == 0) cg_ask_dump(t, 0, 0);
    t->last = c;
    t->done = done;
    if (b->sp_word != 0xffffffff) t->sp = words[b->sp_word] + (u64)(i64)b->sp_disp;
}

/* The same where instructions are all that is counted. */
static void run_plain(struct thread *t, const struct ip_tr_block *b, const u64 *words, u64 done) {
    const struct cg_slot *s = &t->slots[b->number];
    if (!enter_again(t, b, s)) cg_enter(t, b);
    struct cg_counter *c = s->context == t->shared.context ? s->counter : cg_counter_of(t, b);
    if (t->collects) {
        c->runs[done]++;
        t->shared.total[0] += done;
        if ((u64)s->context & CG_SLOW) count_turns(t, c, words, done);
    }
    t->last = c;
    t->done = done;
    if (b->sp_word != 0xffffffff) t->sp = words[b->sp_word] + (u64)(i64)b->sp_disp;
}

static inline u64 sp_after(const struct cg_counter *c, const u64 *record) {
    return record[1 + c->block->sp_word] + (u64)(i64)c->block->sp_disp;
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
    const struct cg_slot *slots = t->slots;
    const u64 *p = from;
    const bool plain = cg.n_events == 1 && !cg.jumps && !cg.dump_every;
    while (p < to) {
        /* All that the loop needs is in registers; what the last block was, t learns when it matters. */
        struct cg_counter *last = t->last;
        struct cg_context *after = t->collects && last && t->done == last->n ? last->after : (struct cg_context *)2;
        struct cg_context *jumps = (struct cg_context *)((u64)t->shared.context | CG_JUMPS);
        u64 limit = t->shared.depth ? cg_top(t)->sp : ~0ull;
        u64 done = t->done, total = t->shared.total[0];
        const u64 *last_p = 0;
        while (p < to) {
            u32 at = (u32)*p;
            if (at < IP_TR_EVENTS) break;
            const struct ip_tr_block *b = (const struct ip_tr_block *)(u64)at;
            const struct cg_slot *s = &slots[b->number];
            if (s->context != after) {
                /* An indirect jump within the function, which has not left it by unwinding. */
                if (after != jumps || ((u64)s->context | CG_JUMPS) != (u64)after || (u64)s->context & CG_SLOW ||
                    (last_p ? sp_after(last, last_p) : t->sp) >= limit)
                    break;
            }
            last_p = p;
            done = tr_completed(*p);
            last = s->counter;
            last->runs[done]++;
            total += done;
            after = last->after;
            p += s->step;
        }
        t->shared.total[0] = total;
        t->last = last;
        t->done = done;
        if (last_p && last->block->sp_word != 0xffffffff) t->sp = sp_after(last, last_p);
        if (p >= to) break;
        if ((u32)*p < IP_TR_EVENTS) {
            if (!*p) break;
            p = event(t, p);
            continue;
        }
        const struct ip_tr_block *b = (const struct ip_tr_block *)(u64)(u32)*p;
        if (plain)
            run_plain(t, b, p + 1, tr_completed(*p));
        else
            run(t, b, p + 1, tr_completed(*p));
        p += 1 + b->n_words;
    }
}
