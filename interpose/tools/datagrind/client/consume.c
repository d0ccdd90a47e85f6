/* From a thread's records (abi/trace.h) to runs: the context that each block ran in, and the addresses. */
#include "tools/datagrind/client/datagrind.h"
#include "runtime/core/core.h"

#define OUT (256u << 10)

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static struct dg_thread *threads[IP_SLOTS];
static u32 n_threads;

bool dg_has_threads(void) { return __atomic_load_n(&n_threads, __ATOMIC_RELAXED) > 1; }

struct dg_thread *dg_thread(const struct tstate *ts) { return threads[ts->slot]; }

void dg_thread_begin(struct tstate *ts) {
    struct dg_thread *t = threads[ts->slot];
    if (!t) {
        t = rt_pages(sizeof *t);
        t->out_begin = t->out = rt_pages(OUT);
        t->out_limit = t->out_begin + OUT - DG_RUN_BYTES;
        t->file = ~0u;
        threads[ts->slot] = t;
    }
    if (!t->live) __atomic_fetch_add(&n_threads, 1, __ATOMIC_RELAXED);
    t->live = true;
    t->ts = ts;
    dg_stack_new(t);
    t->fs = ts->client_fs;
    t->gs = ts->client_gs;
}

void dg_thread_end(struct tstate *ts) {
    struct dg_thread *t = threads[ts->slot];
    if (!t) return;
    dg_emit(t);
    if (t->live) __atomic_fetch_sub(&n_threads, 1, __ATOMIC_RELAXED);
    t->live = false;
}

/* What threads had not handed over is in their own process's file.  The one that is left has another slot now. */
void dg_threads_after_fork(struct tstate *ts) {
    for (u32 i = 0; i < IP_SLOTS; i++) {
        struct dg_thread *t = threads[i];
        if (!t) continue;
        t->out = t->out_begin;
        if (t->live && t->ts == ts) {
            threads[i] = threads[ts->slot];
            threads[ts->slot] = t;
        }
    }
    for (u32 i = 0; i < IP_SLOTS; i++)
        if (threads[i]) threads[i]->live = i == ts->slot;
    n_threads = 1;
}

void dg_emit_all(void) {
    for (u32 i = 0; i < IP_SLOTS; i++)
        if (threads[i]) dg_emit(threads[i]);
}

/* How a block has ended, all of whose instructions have run. */
static inline void end_of(struct dg_thread *t, const struct dg_plan *p, const u64 *w) {
    if (p->sp_word == ~0u) return;
    u64 sp = w[p->sp_word] + (u64)p->sp_disp;
    switch (p->end) {
    case IP_TR_CALL:
    case IP_TR_CALLI: dg_call(t, p->next, sp - 8); break;
    case IP_TR_RET: dg_drop(t, sp + 1); break;
    case IP_TR_JMPI:
        if (UNLIKELY(t->n_handlers)) dg_drop_handlers(t, sp);
        dg_drop(t, sp);
        break;
    default: break;
    }
}

/* ---- Runs -------------------------------------------------------------------------- */

static inline u64 context_of(struct dg_thread *t, const struct dg_plan *p, const struct dg_segment *s) {
    if (s->bbdef < t->cap_last) {
        const struct dg_seen *last = &t->last[s->bbdef];
        if (last->stack == t->stack) return last->context;
    }
    return dg_context(t, s->bbdef, tr_insns(p->block)[s->first].pc);
}

static inline u64 sum_of(const struct dg_operand *o, const u64 *w) {
    return (u64)o->disp + w[o->base] * o->base_scale + w[o->index] * o->index_scale;
}

static u64 address_of(const struct dg_thread *t, const struct dg_operand *o, const u64 *w) {
    u64 sum;
    if (o->flags & DG_OP_BIT) {
        sum = (u64)o->disp + w[o->base] * o->base_scale;
        if (o->index_scale) sum += (u64)((i64)w[o->index] >> 3);
    } else {
        sum = sum_of(o, w);
    }
    if (o->flags & DG_OP_32) sum = (u32)sum;
    if (o->flags & DG_OP_FS) sum += t->fs;
    if (o->flags & DG_OP_GS) sum += t->gs;
    return sum;
}

/* Where the addresses of a run go. */
static inline u8 *begin_run(u8 *to, u64 context, u32 n_insns, u64 n_addresses) {
    u64 length = 8 + 1 + n_addresses * 8;
    *to++ = DG_BBRUN;
    if (length < 255) {
        *to++ = (u8)length;
    } else {
        *to++ = 255;
        __builtin_memcpy(to, &length, 8);
        to += 8;
    }
    __builtin_memcpy(to, &context, 8);
    to[8] = (u8)n_insns;
    return to + 9;
}

static inline void end_run(struct dg_thread *t, u8 *to) {
    t->out = to;
    if (UNLIKELY(to > t->out_limit)) dg_emit(t);
}

/* Which way a repeated instruction went, from where one of its registers ended. */
static u64 step_of(const struct dg_plan *p, const struct dg_segment *s, const u64 *w, u64 times) {
    const struct dg_operand *o = p->ops + s->first_op;
    u64 size = p->sizes[s->first_op], after = w[s->rep + 2];
    for (u32 i = 0; i < s->n_ops; i++) {
        u64 back = sum_of(&o[i], w) - times * size - after;
        if ((o[i].flags & DG_OP_32 ? (u32)back : back) == 0) return 0 - size;
    }
    return size;
}

static void run_repeated(struct dg_thread *t, struct dg_plan *p, struct dg_segment *s, const u64 *w) {
    const struct dg_operand *ops = p->ops + s->first_op;
    u64 context = context_of(t, p, s), times = 1, step = 0;
    if (s->rep != DG_NO_WORD) {
        times = w[s->rep] - w[s->rep + 1];
        if (s->n_ops && ops->flags & DG_OP_32) times = (u32)times;
        if (s->n_ops) step = step_of(p, s, w, times);
    }
    u32 most = s->n_ops ? DG_ITEMS / s->n_ops : 1;
    u64 done = 0;
    do {
        u64 left = times - done, n = s->n_ops == 0 ? 0 : left < most ? left : most;
        u8 *to = begin_run(t->out, context, 1, n * s->n_ops);
        for (u64 i = 0; i < n; i++) {
            for (u32 k = 0; k < s->n_ops; k++) {
                struct dg_operand o = ops[k];
                o.disp += (i64)((done + i) * step);
                u64 address = address_of(t, &o, w);
                __builtin_memcpy(to, &address, 8);
                to += 8;
            }
        }
        done += n;
        end_run(t, to);
    } while (done < times && s->n_ops);
}

/* The addresses of n operands.  How many there are changes from run to run, and a guess that fails costs more than a
 * few addresses in vain; behind the last operand and the last word there is something to read. */
static inline u8 *put_simple(u8 *to, const struct dg_operand *o, u32 n, const u64 *w) {
    u8 *end = to + n * 8ull;
    do {
#pragma GCC unroll 4
        for (u32 i = 0; i < DG_AT_ONCE; i++) {
            u64 address = sum_of(&o[i], w);
            __builtin_memcpy(to + i * 8, &address, 8);
        }
        to += DG_AT_ONCE * 8;
        o += DG_AT_ONCE;
    } while (to < end);
    return end;
}

static RT_NOINLINE u8 *put_others(const struct dg_thread *t, u8 *to, const struct dg_operand *o, u32 n, const u64 *w) {
    for (u32 i = 0; i < n; i++, to += 8) {
        u64 address = address_of(t, &o[i], w);
        __builtin_memcpy(to, &address, 8);
    }
    return to;
}

/* A segment of which n_insns instructions have been completed. */
static inline void run_segment(struct dg_thread *t, struct dg_plan *p, struct dg_segment *s, const u64 *w,
                               u32 n_insns) {
    const struct dg_operand *o = p->ops + s->first_op;
    u32 n = n_insns >= s->n_insns ? s->n_ops : p->ops_upto[s->first + n_insns - 1] - s->first_op;
    if (n_insns > s->n_insns) n_insns = s->n_insns;
    if (UNLIKELY(s->rep_alone)) {
        run_repeated(t, p, s, w);
        return;
    }
    u8 *to = begin_run(t->out, context_of(t, p, s), n_insns, n);
    to = s->simple ? put_simple(to, o, n, w) : put_others(t, to, o, n, w);
    end_run(t, to);
}

/* ---- Records ------------------------------------------------------------------------ */

static u8 *put_text(u8 *to, const u64 *words, u64 length) {
    rt_memcpy(to, words, length + 1);
    return to + length + 1;
}

static void put_event(struct dg_thread *t, u32 type, const u64 *words, u32 n) {
    u8 *to = dg_head(t->out, type, n * 8ull);
    rt_memcpy(to, words, n * 8ull);
    end_run(t, to + n * 8ull);
}

static void allocated(struct dg_thread *t, const u64 *w) {
    u64 words[3 + DG_HEAP_IPS] = {w[0], w[1], 0, t->pc};
    words[2] = 1 + dg_callers(t, words + 4, DG_HEAP_IPS - 1);
    put_event(t, DG_MALLOC_BLOCK, words, 3 + (u32)words[2]);
}

static void event(struct dg_thread *t, u32 kind, const u64 *w) {
    const char *text = (const char *)w;
    u64 n, m;
    u8 *to;
    switch (kind) {
    case IP_TR_FSBASE: t->fs = w[0], t->gs = w[1]; break;
    case DG_EV_MALLOC: allocated(t, w); break;
    case DG_EV_FREE: put_event(t, DG_FREE_BLOCK, w, 1); break;
    case DG_EV_UNTRACK: put_event(t, DG_UNTRACK_RANGE, w, 2); break;
    case DG_EV_TRACK:
        n = rt_strlen(text + 16);
        m = rt_strlen(text + 16 + DG_TEXT_WORDS * 8);
        to = dg_head(t->out, DG_TRACK_RANGE, 16 + n + 1 + m + 1);
        rt_memcpy(to, w, 16);
        to = put_text(to + 16, w + 2, n);
        end_run(t, put_text(to, w + 2 + DG_TEXT_WORDS, m));
        break;
    case DG_EV_START:
    case DG_EV_END:
        n = rt_strlen(text);
        to = dg_head(t->out, kind == DG_EV_START ? DG_START_EVENT : DG_END_EVENT, n + 1);
        end_run(t, put_text(to, w, n));
        break;
    case DG_EV_SIGNAL: dg_handler(t, w[0], w[1], w[2]); break;
    case DG_EV_SIGRETURN: dg_handler_returned(t, w[0]); break;
    default: break;
    }
}

static RT_NOINLINE struct dg_plan *plan_slow(u64 block) {
    struct dg_plan **entry = dg_plan_entry(block);
    rt_lock(&dg.lock);
    struct dg_plan *p = *entry;
    if (!p) p = dg_plan_make((const struct ip_tr_block *)block);
    if (p->file != dg.file) dg_plan_define(p);
    __atomic_store_n(entry, p, __ATOMIC_RELEASE);
    rt_unlock(&dg.lock);
    return p;
}

void tr_consume(struct tstate *ts, const u64 *from, const u64 *to) {
    struct dg_thread *t = threads[ts->slot];
    if (!t || dg.stopped) return;
    if (t->file != dg.file) { /* contexts of another one are none here */
        dg_forget_contexts(t);
        t->file = dg.file;
    }
    for (const u64 *w = from; w < to;) {
        u64 head = *w++;
        u32 low = (u32)head, done = tr_completed(head);
        if (UNLIKELY(low < IP_TR_EVENTS)) {
            event(t, low, w);
            w += head >> 32;
            continue;
        }
        struct dg_plan *p = *dg_plan_entry(low);
        if (UNLIKELY(!p || p->file != dg.file)) p = plan_slow(low);
        t->pc = p->pc;
        for (struct dg_segment *s = p->segments, *end = s + p->n_segments; s < end && s->first < done; s++)
            run_segment(t, p, s, w, done - s->first);
        if (done == p->n_insns) end_of(t, p, w);
        w += p->n_words;
    }
}
