/* The path through functions: calls, returns, jumps from one function into another, handlers.
 *
 * A frame ends when RSP has come back to where it was before the call, however that happens: by a return, longjmp or
 * an exception.  A jump into another function is a call, too, whose frame ends with that of the function that jumps;
 * but not a jump back to a function's middle, whose frame is the one below: then it is the end of a part of the
 * function that was put elsewhere (.cold). */
#include "runtime/base/rt.h"
#include "tools/callgrind/client/callgrind.h"

static struct cg_function *function_at(struct thread *t, const struct ip_tr_block *b) {
    struct cg_slot *s = &t->slots[b->number];
    if (!s->function) s->function = cg_function_of(t, b->function, b->pc, cg_in_line() ? b : 0);
    return s->function;
}

/* Something is to happen because the function begins (or ends), but not if it is called while it is under way. */
static void eventful_begin(struct thread *t, struct cg_function *f, u32 *flags) {
    if (*f->active) return;
    if (f->number & CG_F_DUMP_BEFORE) cg_ask_dump(t, CG_F_DUMP_BEFORE, f->number);
    if (f->number & CG_F_TOGGLE) {
        t->collects = !t->collects;
        *flags |= CG_TOGGLE;
    }
}

/* What a handler has interrupted goes on as if nothing had been. */
static void restore(struct thread *t, const struct cg_frame *f) {
    for (u32 i = 0; i < cg.n_events; i++) t->shared.total[i] = f->began[i];
    t->sp = f->last_sp;
}

static void end_root(struct thread *t) {
    u32 *active = t->shared.context ? t->shared.context->family->function->active : 0;
    if (active && *active) --*active;
}

static void cg_pop(struct thread *t) {
    struct cg_frame *f = cg_top(t);
    if (f->call) {
        u64 any = 0;
        for (u32 i = 0; i < cg.n_events; i++) {
            u64 cost = t->shared.total[i] - f->began[i];
            f->call->cost[i] += cost;
            any |= cost;
        }
        if (f->flags & CG_UNSEEN && any) f->call->count++;
    }
    if (f->flags & CG_SIGNAL) {
        restore(t, f);
        end_root(t); /* the handler itself, which nobody has called */
    }
    struct cg_function *function = f->active && f->active != &t->nobody && !(f->flags & CG_QUICK) ? f->call->function
                                                                                                  : 0;
    u32 flags = f->flags;
    if (f->active) --*f->active;
    if (flags & CG_SIGNAL)
        t->collects = (flags & CG_TOGGLE) != 0;
    else if (flags & CG_TOGGLE)
        t->collects = !t->collects;
    t->shared.context = f->context;
    t->last = f->counter;
    t->done = f->insn + 1;
    t->shared.depth--;
    if (function && !*f->active && function->number & CG_F_DUMP_AFTER && !cg_is_unknown(function))
        cg_ask_dump(t, CG_F_DUMP_AFTER, function->number);
}

struct cg_call *cg_new_call(struct thread *t, struct cg_counter *c, struct cg_call what) {
    struct cg_call *call = cg_alloc(t, sizeof *call + (cg.n_events - 1) * sizeof call->cost[0]);
    *call = what;
    call->next = c->calls;
    __atomic_store_n(&c->calls, call, __ATOMIC_RELEASE);
    return call;
}

static struct cg_call *find_call(struct thread *t, struct cg_counter *c, u32 insn, struct cg_function *f,
                                 struct cg_context *callee) {
    for (struct cg_call *call = c->calls; call; call = call->next)
        if (call->callee == callee && call->insn == insn && !(call->flags & CG_JUMP)) return call;
    return cg_new_call(t, c, (struct cg_call){.callee = callee, .function = f, .insn = insn});
}

/* A call of a skipped function: its cost goes to the call. */
static struct cg_context *skipped(struct thread *t, struct cg_counter *c, u32 insn, struct cg_function *f) {
    for (struct cg_call *call = c->calls; call; call = call->next)
        if (call->function == f && call->insn == insn && call->callee->caller) return call->callee;
    struct cg_context *from = c->context, *x = cg_new_context(t, cg_family_of(t, f, 0));
    x->caller = from->caller ? from->caller : from;
    x->site = from->caller ? from->site : tr_insns(c->block)[insn].pc;
    find_call(t, c, insn, f, x);
    return x;
}

static void push(struct thread *t, const struct ip_tr_block *b, struct cg_function *f, u64 sp, u32 flags) {
    struct cg_counter *c = t->last;
    u32 insn = t->done ? (u32)t->done - 1 : 0;
    struct cg_context *from = t->shared.context;
    if (f->number & CG_F_EVENTFUL && !cg_is_unknown(f)) eventful_begin(t, f, &flags);
    struct cg_frame *frame = cg_push_frame(t);
    frame->sp = sp;
    frame->context = from;
    frame->counter = c;
    frame->insn = insn;
    frame->active = &t->nobody;
    frame->flags = flags;
    frame->call = t->nothing;
    for (u32 i = 0; i < cg.n_events; i++) frame->began[i] = t->shared.total[i];
    if (f->number & CG_F_SKIP && !cg_is_unknown(f)) {
        frame->flags |= CG_SKIP;
        t->shared.context = skipped(t, c, insn, f);
        return;
    }
    struct cg_context *owner = from->caller ? from->caller : from, *x = owner;
    if (!cg.skip_direct_recursion || owner->family->function != f) {
        frame->active = f->active;
        ++*f->active;
        x = cg_context_of(t, cg_family_of(t, f, owner->family));
    }
    struct cg_call *call = find_call(t, c, insn, f, x);
    if (t->collects)
        call->count++;
    else
        frame->flags |= CG_UNSEEN;
    if (!call->entry) call->entry = b->pc;
    frame->call = call;
    t->shared.context = x;
    if (f->number & CG_F_ZERO_BEFORE && !cg_is_unknown(f) && *f->active == 1)
        cg_ask_dump(t, CG_F_ZERO_BEFORE, f->number);
}

/* The first function of a thread, or of a handler. */
static void root(struct thread *t, const struct ip_tr_block *b) {
    struct cg_function *f = function_at(t, b);
    ++*f->active;
    t->shared.context = cg_context_of(t, cg_family_of(t, f, 0));
}

static u64 pop_to(struct thread *t, u64 sp) {
    u64 n = 0;
    while (t->shared.depth && cg_top(t)->sp <= sp && !(cg_top(t)->flags & CG_SIGNAL)) {
        cg_pop(t);
        n++;
    }
    /* Out of a handler by a jump: what it interrupted goes on, further out.  Frames of a handler that runs on another
     * stack lie above those that it interrupts, and say nothing. */
    return n;
}

/* The handler may have left its frame for one of those that it interrupted. */
static void leave_handlers(struct thread *t, u64 sp) {
    u64 d = t->shared.depth;
    while (d) {
        struct cg_frame *f = cg_frame_at(t, d);
        if (f->flags & CG_SIGNAL && sp >= f->sp && sp - f->sp < (u64)8 << 20) {
            while (t->shared.depth >= d) cg_pop(t);
            pop_to(t, sp);
        }
        if (f->sp > sp) break;
        d--;
    }
}

/* Frames below those that the first function of a thread or of a handler has got by jumps; more than there are: it has
 * called something, which runs. */
static u64 depth_of_root(const struct thread *t) {
    u64 d = t->shared.depth, sp = d ? cg_frame_at(t, d)->sp : ~0ull;
    while (d && cg_frame_at(t, d)->sp == sp && !(cg_frame_at(t, d)->flags & CG_SIGNAL)) d--;
    bool is_root = d ? cg_frame_at(t, d)->sp == sp && cg_frame_at(t, d)->flags & CG_SIGNAL : sp == ~0ull;
    return is_root ? d : t->shared.depth + 1;
}

/* Out of the function where counting began, or a handler, or of what it has become by a jump: who called it is not
 * known (of a handler, the kernel: it returns to the C library's trampoline), but it does not call them. */
static bool leave_root(struct thread *t, const struct ip_tr_block *b) {
    if (cg_is_within(t->shared.context, b)) return false;
    u64 depth = depth_of_root(t);
    if (depth > t->shared.depth) return false;
    while (t->shared.depth > depth) cg_pop(t);
    end_root(t);
    root(t, b);
    return true;
}

/* Does its function begin with the block, as far as can be told?  Where names do not tell, unwind tables may. */
static bool begins(const struct cg_function *f, const struct ip_tr_block *b) {
    return cg_is_unknown(f) ? b->where & IP_CT_BLOCK && b->home == b->pc : b->pc == f->entry;
}

void cg_jumped(struct thread *t, const struct ip_tr_block *b) {
    struct cg_context *x = t->shared.context;
    if (cg_is_within(x, b)) return;
    struct cg_function *f = function_at(t, b);
    if (t->shared.depth) {
        struct cg_frame *top = cg_top(t);
        if (top->flags & CG_TAIL && cg_is_within(top->context, b) && !(b->function & (CG_F_SKIP | CG_F_LINKAGE)) &&
            !begins(f, b)) {
            cg_pop(t);
            return;
        }
        if (!cg_is_unknown(x->family->function) && x->family->function->number & CG_F_POP_ON_JUMP) {
            u64 sp = top->sp;
            u32 flags = top->flags & CG_TAIL;
            cg_pop(t);
            if (!cg_is_within(t->shared.context, b)) push(t, b, f, sp, flags);
            return;
        }
    }
    push(t, b, f, t->shared.depth ? cg_top(t)->sp : ~0ull, CG_TAIL);
}

void cg_led(struct thread *t, const struct ip_tr_block *b) {
    struct cg_function *f = function_at(t, b);
    if (cg_is_within(t->shared.context, b) && (cg_is_unknown(f) || f->entry != b->pc)) return;
    push(t, b, f, t->shared.depth ? cg_top(t)->sp : ~0ull, 0);
}

void cg_enter(struct thread *t, const struct ip_tr_block *b) {
    struct cg_counter *c = t->last;
    if (!c) {
        root(t, b);
        return;
    }
    if (t->done < c->n) {
        cg_jumped(t, b);
        return;
    }
    switch (c->block->end) {
    case IP_TR_CALL:
    case IP_TR_CALLI: {
        struct cg_function *f = function_at(t, b);
        if (!cg_is_unknown(f)) f->entry = b->pc;
        /* call +0: the address of what follows is wanted, nothing is called (i386 idiom) */
        if (c->block->end == IP_TR_CALL && c->block->target == c->block->next) break;
        push(t, b, f, t->sp, 0);
        return;
    }
    case IP_TR_RET:
        if (pop_to(t, t->sp + 8)) break;
        leave_handlers(t, t->sp + 8);
        if (leave_root(t, b)) return;
        break;
    case IP_TR_JMPI:
        if (t->shared.depth && cg_top(t)->sp <= t->sp) {
            pop_to(t, t->sp);
            leave_handlers(t, t->sp);
        }
        break;
    default: break;
    }
    cg_jumped(t, b);
}

/* All calls under way have ended. */
void cg_unwind(struct thread *t) {
    while (t->shared.depth) cg_pop(t);
    end_root(t);
    t->last = 0;
    t->shared.context = 0;
}

/* A handler begins: its costs are not the cost of what it interrupts, nor is it collected because that is: it begins
 * as a thread does, and what it switches counts up to its end. */
void cg_signal(struct thread *t, u64 sp) {
    struct cg_frame *f = cg_push_frame(t);
    f->sp = sp;
    f->context = t->shared.context;
    f->counter = t->last;
    f->insn = t->done ? (u32)t->done - 1 : 0;
    f->call = 0;
    f->active = 0;
    f->flags = CG_SIGNAL | (t->collects ? CG_TOGGLE : 0);
    f->last_sp = t->sp;
    for (u32 i = 0; i < cg.n_events; i++) f->began[i] = t->shared.total[i];
    t->collects = cg.collect;
    t->last = 0;
    t->shared.context = 0;
}

void cg_sigreturn(struct thread *t) {
    while (t->shared.depth) {
        bool was = cg_top(t)->flags & CG_SIGNAL;
        cg_pop(t);
        if (was) break;
    }
}
