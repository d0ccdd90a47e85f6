/* From a thread's records (abi/trace.h) to runs: the context that each block ran in, and the addresses. */
#include "tools/datagrind/client/frames.h"
#include "runtime/core/core.h"

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static struct dg_thread *threads[IP_SLOTS];
static u32 n_threads;

bool dg_has_threads(void) { return __atomic_load_n(&n_threads, __ATOMIC_RELAXED) > 1; }

struct dg_thread *dg_thread(const struct tstate *ts) { return threads[ts->slot]; }

void dg_thread_begin(struct tstate *ts) {
    struct dg_thread *t = threads[ts->slot];
    if (!t) {
        t = rt_pages(sizeof *t);
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
    dg_end(t);
    if (t->live) __atomic_fetch_sub(&n_threads, 1, __ATOMIC_RELAXED);
    t->live = false;
}

/* What threads had not handed over is in their own process's file.  The one that is left has another slot now. */
void dg_threads_after_fork(struct tstate *ts) {
    for (u32 i = 0; i < IP_SLOTS; i++) {
        struct dg_thread *t = threads[i];
        if (!t) continue;
        t->out = t->out_begin = NULL;
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

/* What the end of a block that leaves does to the call stack. */
static inline __attribute__((always_inline)) void end_of(struct dg_thread *t, const struct dg_node *n, const u64 *w) {
    u64 sp = w[n->sp_word] + (u64)(i64)n->sp_disp;
    switch (n->end) {
    case IP_TR_CALL:
    case IP_TR_CALLI: dg_call(t, n->ret, n->ret_mixed, sp - 8); break;
    case IP_TR_RET: dg_drop(t, sp + 1); break;
    case IP_TR_JMPI:
        if (UNLIKELY(t->n_handlers)) dg_drop_handlers(t, sp);
        dg_drop(t, sp);
        break;
    default: break;
    }
}

/* ---- Runs -------------------------------------------------------------------------- */

/* Of a definition in this call stack, or DG_UNKNOWN. */
static inline u64 context_of(struct dg_thread *t, struct dg_def *d) {
    const struct dg_seen *s = &d->recent[t->stack & d->mask];
    return s->stack == t->stack ? s->context : dg_known_context(t, d);
}

/* The same for the block at pc; it has one. */
static inline u64 context_at(struct dg_thread *t, struct dg_def *d, u64 pc) {
    u64 context = context_of(t, d);
    return UNLIKELY(context == DG_UNKNOWN) ? dg_new_context(t, d, pc) : context;
}

static inline u64 sum_of(const struct dg_operand *o, const u64 *w) {
    return (u64)o->disp + w[o->base] + (w[o->index] << o->shift);
}

static u64 address_of(const struct dg_thread *t, const struct dg_operand *o, const u64 *w) {
    u64 sum = sum_of(o, w);
    if (o->flags & DG_OP_BIT) {
        u32 above = 64 - (8u << o->shift);
        sum = (u64)o->disp + w[o->base] + (u64)((i64)(w[o->index] << above) >> above >> 3);
    }
    if (o->flags & DG_OP_BYTE) sum = (u64)o->disp + w[o->base] + (u8)w[o->index];
    if (o->flags & DG_OP_32) sum = (u32)sum;
    if (o->flags & DG_OP_FS) sum += t->fs;
    if (o->flags & DG_OP_GS) sum += t->gs;
    return sum;
}

static const struct ip_tr_block *block_of(u64 head) { return (const struct ip_tr_block *)(u64)(u32)head; }

#define HEAD      11 /* bytes before a run's addresses */
#define WIDE_HEAD 19 /* of a longer one */

/* A record ends at to. */
static inline void end_record(struct dg_thread *t, u8 *to) {
    t->out = to;
    if (UNLIKELY(to >= t->out_limit)) dg_emit(t);
}

/* What precedes the addresses from .. to. */
static inline void put_head(u8 *from, const u8 *to, u64 context, u32 n_insns) {
    u64 length = 9 + (u64)(to - from);
    from[-1] = (u8)n_insns;
    __builtin_memcpy(from - 9, &context, 8);
    if (length < 255) {
        from[-10] = (u8)length;
        from[-11] = DG_BBRUN;
    } else {
        __builtin_memcpy(from - 17, &length, 8);
        from[-18] = 255;
        from[-19] = DG_BBRUN;
    }
}

static inline u32 head_of(u64 bytes) { return 9 + bytes < 255 ? HEAD : WIDE_HEAD; }

/* Which way a repeated instruction went, from where one of its registers ended. */
static u64 step_of(const struct dg_plan *p, const struct dg_segment *s, const u64 *w, u64 times) {
    const struct dg_operand *o = p->ops + s->first_op;
    u64 size = p->sizes[s->first_op], after = w[1 + s->rep + 2];
    for (u32 i = 0; i < s->n_ops; i++) {
        u64 back = sum_of(&o[i], w) - times * size - after;
        if ((o[i].flags & DG_OP_32 ? (u32)back : back) == 0) return 0 - size;
    }
    return size;
}

static void run_repeated(struct dg_thread *t, const struct dg_plan *p, const struct dg_segment *s, u64 context,
                         const u64 *w) {
    const struct dg_operand *ops = p->ops + s->first_op;
    u64 times = 1, step = 0;
    if (s->rep != DG_NO_WORD) {
        times = w[1 + s->rep] - w[1 + s->rep + 1];
        if (s->n_ops && ops->flags & DG_OP_32) times = (u32)times;
        if (s->n_ops) step = step_of(p, s, w, times);
    }
    u32 most = s->n_ops ? DG_ITEMS / s->n_ops : 1;
    u64 done = 0;
    do {
        u64 left = times - done, n = s->n_ops == 0 ? 0 : left < most ? left : most;
        u8 *from = t->out + head_of(n * s->n_ops * 8), *to = from;
        for (u64 i = 0; i < n; i++) {
            for (u32 k = 0; k < s->n_ops; k++) {
                struct dg_operand o = ops[k];
                o.disp += (i64)((done + i) * step);
                u64 address = address_of(t, &o, w);
                __builtin_memcpy(to, &address, 8);
                to += 8;
            }
        }
        put_head(from, to, context, 1);
        end_record(t, to);
        done += n;
    } while (done < times && s->n_ops);
}

/* The addresses of the path's last block.  How many there are changes from run to run, and a guess that fails costs
 * more than a few addresses in vain; behind the last operand and the last word there is something to read. */
static inline u8 *put_addresses(const struct dg_thread *t, const struct dg_node *n, u8 *to, const u64 *w) {
    const u64 *words = w;
    u8 *begin = to, *end = to + n->n_ops * 8ull;
    if (__builtin_expect(n->plain, 1)) {
        do {
#pragma GCC unroll 4
            for (u32 i = 0; i < DG_AT_ONCE; i++) __builtin_memcpy(to + i * 8, &w[1 + i], 8);
            to += DG_AT_ONCE * 8;
            w += DG_AT_ONCE;
        } while (to < end);
    } else {
        for (const struct dg_operand *o = n->ops; to < end; o++, to += 8) {
            u64 address = sum_of(o, w);
            __builtin_memcpy(to, &address, 8);
        }
    }
    if (n->special == 0) return end;
    if (__builtin_expect(n->special != DG_SPECIAL, 1)) {
        u64 address;
        __builtin_memcpy(&address, begin + (n->special - 1) * 8, 8);
        address += t->fs;
        __builtin_memcpy(begin + (n->special - 1) * 8, &address, 8);
    } else {
        const struct dg_plan *p = n->plan;
        for (u32 i = 0; i < p->n_special && p->special[i] < n->n_ops; i++) {
            u64 address = address_of(t, &p->ops[p->special[i]], words);
            __builtin_memcpy(begin + p->special[i] * 8, &address, 8);
        }
    }
    return end;
}

/* Make room for another number of bytes before the addresses; where they begin then. */
static RT_NOINLINE u8 *place_addresses(struct dg_thread *t, u8 *from, u8 **to) {
    u64 bytes = (u64)(*to - from);
    u8 *place = t->out + head_of(bytes);
    if (place != from) __builtin_memmove(place, from, bytes);
    *to = place + bytes;
    return place;
}

static inline void set_wide(struct dg_node *n, bool wide) {
    while (n->parent) n = n->parent;
    n->wide = wide;
}

static u64 first_pc(const struct dg_node *n) {
    while (n->parent) n = n->parent;
    return tr_insns(n->plan->block)[0].pc;
}

/* The path ends: a run with the addresses from .. to. */
static inline void end_path(struct dg_thread *t, struct dg_node *n, u8 *from, u8 *to) {
    struct dg_def *d = n->def ? n->def : dg_define(t, n);
    u64 context = context_of(t, d);
    if (UNLIKELY(context == DG_UNKNOWN)) context = dg_new_context(t, d, first_pc(n));
    u32 head = head_of((u64)(to - from));
    if (UNLIKELY(from != t->out + head)) {
        set_wide(n, head != HEAD);
        from = place_addresses(t, from, &to);
    }
    put_head(from, to, context, n->insns);
    t->newest = block_of(n->head);
    end_record(t, to);
}

/* An instruction with those of its accesses that are made. */
static void run_some(struct dg_thread *t, struct dg_node *n, u32 segment, const u64 *w) {
    const struct dg_plan *p = n->plan;
    const struct dg_segment *s = &p->segments[segment];
    u64 made = 0, places[DG_ITEMS];
    u32 n_made = 0, end = s->first_op + s->n_ops;
    bool alike = true;
    for (u32 k = s->first_op; k < end; k++) {
        alike &= p->sizes[k] == p->sizes[s->first_op] && p->writes[k] == p->writes[s->first_op];
        if (w[p->ops[k].base] == IP_TR_NOWHERE) continue;
        made |= dg_part_of(p, s, k);
        places[n_made++] = address_of(t, &p->ops[k], w);
    }
    if (alike) made = (1ull << n_made) - 1;
    struct dg_def *d = dg_some_def(t, n, segment, made);
    u64 context = context_at(t, d, tr_insns(p->block)[s->first].pc);
    u8 *from = t->out + head_of(n_made * 8ull);
    memcpy(from, places, n_made * 8ull);
    put_head(from, from + n_made * 8ull, context, 1);
    end_record(t, from + n_made * 8ull);
}

/* A block whose segments have definitions of their own. */
static RT_NOINLINE void run_segments(struct dg_thread *t, struct dg_node *n, const u64 *w) {
    const struct dg_plan *p = n->plan;
    for (u32 i = 0; i < p->n_segments && p->segments[i].first < n->n_insns; i++) {
        const struct dg_segment *s = &p->segments[i];
        if (s->some) {
            run_some(t, n, i, w);
            continue;
        }
        u64 context = context_at(t, &n->defs[i], tr_insns(p->block)[s->first].pc);
        u32 n_insns = n->n_insns - s->first;
        if (s->rep_alone) {
            run_repeated(t, p, s, context, w);
            continue;
        }
        if (n_insns > s->n_insns) n_insns = s->n_insns;
        u32 n_ops = p->ops_upto[s->first + n_insns - 1] - s->first_op;
        u8 *from = t->out + head_of(n_ops * 8ull), *to = from;
        for (u32 k = 0; k < n_ops; k++, to += 8) {
            u64 address = address_of(t, &p->ops[s->first_op + k], w);
            __builtin_memcpy(to, &address, 8);
        }
        put_head(from, to, context, n_insns);
        end_record(t, to);
    }
    t->newest = p->block;
}

/* ---- Records ------------------------------------------------------------------------ */

static u8 *put_text(u8 *to, const u64 *words, u64 length) {
    memcpy(to, words, length + 1);
    return to + length + 1;
}

static void put_event(struct dg_thread *t, u32 type, const u64 *words, u32 n) {
    u8 *to = dg_head(t->out, type, n * 8ull);
    memcpy(to, words, n * 8ull);
    end_record(t, to + n * 8ull);
}

static void allocated(struct dg_thread *t, const u64 *w) {
    u64 words[3 + DG_HEAP_IPS] = {w[0], w[1], 0, t->newest ? t->newest->pc : 0};
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
        memcpy(to, w, 16);
        to = put_text(to + 16, w + 2, n);
        end_record(t, put_text(to, w + 2 + DG_TEXT_WORDS, m));
        break;
    case DG_EV_START:
    case DG_EV_END:
        n = rt_strlen(text);
        to = dg_head(t->out, kind == DG_EV_START ? DG_START_EVENT : DG_END_EVENT, n + 1);
        end_record(t, put_text(to, w, n));
        break;
    case DG_EV_SIGNAL: dg_handler(t, w[0], w[1], w[2]); break;
    case DG_EV_SIGRETURN: dg_handler_returned(t, w[0]); break;
    default: break;
    }
}

/* May what the block does at its end change the call stack? */
static inline bool leaves(const struct dg_thread *t, const struct dg_node *n, const u64 *w) {
    u64 sp = w[n->sp_word] + (u64)(i64)n->sp_disp;
    return n->end != IP_TR_JMPI || t->n_handlers || (t->n_frames && t->frames[t->n_frames - 1].slot < sp);
}

/* The root of what follows the path's end. */
static RT_NOINLINE struct dg_node *root_after(struct dg_thread *t, struct dg_node *last, u64 head) {
    struct dg_node *root = dg_root(t, head);
    last->after_head = head;
    last->after = root;
    return root;
}

/* In the records' own memory, where heads become 0. */
__attribute__((target("bmi2"))) static void consume(struct dg_thread *t, u64 *w, const u64 *end) {
    static struct dg_node nowhere;
    struct dg_node *n = &nowhere; /* the path that is under way */
    struct dg_node *last = t->ended;
    u8 *from = t->out, *to = from; /* its addresses */
    for (u32 n_words; w < end; w += 1 + n_words) {
        u64 head = *w;
        struct dg_node *next = n->next;
        *w = 0;
        if (UNLIKELY(head != n->next_head)) {
            next = n == &nowhere ? NULL : dg_turn(t, n, head);
            if (!next) {
                if (n != &nowhere) {
                    end_path(t, n, from, to);
                    last = n;
                    n = &nowhere;
                }
                if (UNLIKELY((u32)head < IP_TR_EVENTS)) {
                    event(t, (u32)head, w + 1);
                    n_words = (u32)(head >> 32);
                    continue;
                }
                if (UNLIKELY(tr_completed(head) == 0)) {
                    t->newest = block_of(head);
                    n_words = tr_words(head);
                    continue;
                }
                next = last->after;
                if (head != last->after_head) next = root_after(t, last, head);
                n_words = tr_words(head);
                if (UNLIKELY(!next->whole)) {
                    run_segments(t, next, w);
                    if (next->leaves) end_of(t, next, w);
                    continue;
                }
                from = to = t->out + (next->wide ? WIDE_HEAD : HEAD);
            }
        }
        n = next;
        n_words = tr_words(head);
        to = put_addresses(t, n, to, w);
        if (n->leaves && leaves(t, n, w)) {
            end_path(t, n, from, to);
            end_of(t, n, w);
            last = n;
            n = &nowhere;
        }
    }
    if (n != &nowhere) end_path(t, n, from, to), last = n;
    t->ended = last;
}

void tr_consume(struct tstate *ts, const u64 *from, const u64 *to) {
    struct dg_thread *t = threads[ts->slot];
    if (!t || dg.stopped) return;
    if (t->file != dg.file) { /* what was defined in another one is not here */
        dg_forget_contexts(t);
        dg_forget_paths(t);
        t->file = dg.file;
    }
    if (!t->out) dg_begin(t);
    u64 code = __atomic_load_n(&dg.code, __ATOMIC_RELAXED);
    if (t->code != code) dg_stack_renew(t, code);
    consume(t, (u64 *)(u64)from, to);
    dg_filled(t);
}
