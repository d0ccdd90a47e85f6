/* The tables of a thread: functions, contexts, counters, frames. */
#include "runtime/base/rt.h"
#include "tools/callgrind/client/callgrind.h"

#define TIDS       (1u << 22)
#define CHUNK      (1u << 18)
#define ACTIVES    1024
#define MAX_BLOCKS (IP_TRACE_MAX / sizeof(struct ip_tr_block))

_Static_assert(sizeof((struct cg_thread *)0)->levels == CG_LEVELS * sizeof(void *),
               "callgrind_abi.h: cffi takes numbers only");

static struct thread **threads; /* by tid_guest, which the next thread takes over with all counts */
static rt_lock_t threads_lock;

void cg_threads_fork_lock(bool lock) {
    if (lock)
        rt_lock(&threads_lock);
    else
        rt_unlock(&threads_lock);
}

/* A forked child has these tables as the fork met them, amid a change perhaps, and with templates that are not in its
 * copy of the cache.  They say what was counted, but no thread of the child may go on with them. */
void cg_threads_forked(const struct tstate *ts) {
    if (!threads) return;
    for (struct cg_thread *shared = cg_root.threads; shared; shared = shared->next) {
        struct thread *t = threads[shared->tid];
        if (!t || t->shared.tid == ts->tid_guest) continue;
        if (cg_in_line() && t->shared.ts) cg_line_forked(t);
        threads[t->shared.tid] = 0;
    }
}

/* Before the first frame is one that no return leaves. */
static u8 *new_frames(const struct thread *t, u64 room) {
    struct cg_frame *none = rt_pages((room + 1) * t->shared.frame_bytes);
    none->sp = ~0ull;
    return (u8 *)none + t->shared.frame_bytes;
}

static struct thread *new_thread(struct tstate *ts) {
    struct thread *t = rt_pages(sizeof *t);
    t->shared.tid = (u32)ts->tid_guest;
    t->shared.frame_bytes = (u32)(sizeof(struct cg_frame) + (cg.n_events - 1) * sizeof(u64));
    t->slots = rt_pages(MAX_BLOCKS * sizeof *t->slots);
    t->counters_size = 1u << 12;
    t->counters = rt_pages(t->counters_size * sizeof *t->counters);
    t->functions_size = 1u << 12;
    t->functions = rt_pages(t->functions_size * sizeof *t->functions);
    t->frames_room = 1u << 8;
    t->shared.frames = new_frames(t, t->frames_room);
    t->nothing = cg_alloc(t, sizeof *t->nothing + (cg.n_events - 1) * sizeof t->nothing->cost[0]);
    t->collects = cg.collect;
    return t;
}

struct thread *cg_thread_of(struct tstate *ts) {
    u64 tid = ts->tid_guest < TIDS ? ts->tid_guest : 0;
    if (__builtin_expect(!threads || !threads[tid], 0)) {
        rt_lock(&threads_lock);
        if (!threads) threads = rt_pages(TIDS * sizeof *threads);
        struct thread *t = new_thread(ts);
        t->shared.next = cg_root.threads;
        threads[tid] = t;
        __atomic_store_n(&cg_root.threads, &t->shared, __ATOMIC_RELEASE);
        rt_unlock(&threads_lock);
    }
    threads[tid]->ts = ts;
    return threads[tid];
}

void *cg_alloc(struct thread *t, u64 bytes) {
    struct cg_chunk *c = t->shared.chunks;
    bytes = RT_ROUND_UP(bytes, 8);
    if (!c || c->used + bytes > c->bytes) {
        u64 room = CHUNK;
        if (bytes + sizeof *c > room) room = RT_ROUND_UP(bytes + sizeof *c, RT_PAGE);
        struct cg_chunk *fresh = rt_pages(room);
        fresh->bytes = room;
        fresh->used = sizeof *fresh;
        fresh->next = c;
        t->shared.chunks = c = fresh;
    }
    void *at = (u8 *)c + c->used;
    c->used += bytes;
    return at;
}

/* ---- Functions and contexts ----------------------------------------------------------------- */

static u64 hash(u64 a, u64 b) {
    u64 h = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
    return h ^ h >> 29;
}

/* Where translated code counts the calls that are under way, of a function that begins with this block. */
static u32 *active_word(const struct thread *t, const struct ip_tr_block *b) {
    if (!b || !b->active_word || (b->where & IP_CT_BLOCK && b->home != b->pc)) return 0;
    if (b->first_word + b->n_words > IP_CT_MAX_WORDS) return 0;
    return (u32 *)(t->shared.levels[0] + b->first_word + b->active_word);
}

struct cg_function *cg_function_of(struct thread *t, u32 number, u64 entry, const struct ip_tr_block *b) {
    bool named = number && !(number & CG_F_UNKNOWN);
    struct cg_function **at = &t->functions[hash(named ? number : entry, named) & (t->functions_size - 1)];
    for (struct cg_function *f = *at; f; f = f->next)
        if (f->number == number && (named || f->entry == entry)) return f;
    struct cg_function *f = cg_alloc(t, sizeof *f);
    f->number = number;
    f->entry = entry;
    f->active = active_word(t, b);
    if (!f->active) {
        if (t->n_actives % ACTIVES == 0) t->actives = cg_alloc(t, ACTIVES * sizeof *t->actives);
        f->active = t->actives + t->n_actives++ % ACTIVES;
    }
    f->callers = cg.callers;
    f->recursions = cg.recursions ? cg.recursions : 1;
    if (number & CG_F_SPECIAL) {
        struct cg_function_options o;
        cg_function_options(t, number, &o);
        f->callers = o.callers;
        f->recursions = o.recursions ? o.recursions : 1;
    }
    f->next = *at;
    *at = f;
    return f;
}

static struct cg_family *find_family(struct thread *t, struct cg_function *f, struct cg_family *caller) {
    for (struct cg_family *y = f->families; y; y = y->next)
        if (y->caller == caller) return y;
    struct cg_family *y = cg_alloc(t, sizeof *y);
    y->function = f;
    y->caller = caller;
    y->depth = caller ? caller->depth + 1 : 0;
    y->next = f->families;
    f->families = y;
    return y;
}

/* Who has called, up to depth callers, of which not all may have contexts by their own: as the frames say. */
static struct cg_family *callers_by_frames(struct thread *t, u32 depth) {
    struct cg_function *chain[64];
    u32 n = 0;
    for (u64 d = t->shared.depth; d > 0 && n < depth && n < 64; d--) {
        const struct cg_frame *frame = cg_frame_at(t, d);
        if (frame->flags & CG_SIGNAL || !frame->context) break;
        const struct cg_context *x = frame->context->caller ? frame->context->caller : frame->context;
        if (!n || chain[n - 1] != x->family->function) chain[n++] = x->family->function;
    }
    struct cg_family *callers = 0;
    while (n) callers = find_family(t, chain[--n], callers);
    return callers;
}

struct cg_family *cg_family_of(struct thread *t, struct cg_function *f, struct cg_family *caller) {
    u32 depth = f->callers;
    if (caller && caller->function == f && depth) return caller; /* direct recursion makes no longer chain */
    if (caller && depth > cg.callers && depth > 1) return find_family(t, f, callers_by_frames(t, depth));
    if (depth == 0) return find_family(t, f, 0); /* others are links of chains */
    if (caller && caller->depth + 1 > depth) {
        /* A chain that is too long loses its far end. */
        struct cg_family *chain[64];
        u32 n = 0;
        for (struct cg_family *c = caller; c && n < depth && n < 64; c = c->caller) chain[n++] = c;
        struct cg_family *shorter = 0;
        while (n) shorter = find_family(t, chain[--n]->function, shorter);
        caller = shorter;
    }
    return find_family(t, f, caller);
}

struct cg_context *cg_new_context(struct thread *t, struct cg_family *f) {
    struct cg_context *x = cg_alloc(t, sizeof *x);
    x->family = f;
    x->number = t->n_contexts++;
    x->function = f->function->number;
    x->where = IP_CT_NOWHERE;
    x->next = t->shared.contexts;
    __atomic_store_n(&t->shared.contexts, x, __ATOMIC_RELEASE);
    return x;
}

struct cg_context *cg_context_at(struct thread *t, struct cg_family *f, u64 level) {
    if (level >= f->room) {
        /* Few functions call themselves: room grows with the levels that are reached. */
        u64 room = level < 2 ? level + 1 : 2 * level;
        struct cg_context **more = cg_alloc(t, room * sizeof(struct cg_context *));
        for (u32 i = 0; i < f->room; i++) more[i] = f->contexts[i];
        f->contexts = more;
        f->room = (u32)room;
    }
    if (!f->contexts[level]) {
        struct cg_context *x = cg_new_context(t, f);
        x->level = (u32)level;
        f->contexts[level] = x;
    }
    return f->contexts[level];
}

/* The family at the level that it is active at. */
struct cg_context *cg_context_of(struct thread *t, struct cg_family *f) {
    u64 active = *f->function->active, level = active == 0 ? 0 : active - 1, last = cg_last_level(f->function);
    return cg_context_at(t, f, level > last ? last : level);
}

/* ---- Counters ---------------------------------------------------------------------------------- */

static void grow(struct thread *t) {
    u64 size = t->counters_size * 2;
    struct cg_counter **bigger = rt_pages(size * sizeof *bigger);
    for (u64 i = 0; i < t->counters_size; i++) {
        struct cg_counter *c = t->counters[i];
        if (!c) continue;
        u64 h = hash((u64)c->context, (u64)c->block);
        while (bigger[h & (size - 1)]) h++;
        bigger[h & (size - 1)] = c;
    }
    rt_free_pages(t->counters, t->counters_size * sizeof *t->counters);
    t->counters = bigger;
    t->counters_size = size;
}

static bool repeats(const struct ip_tr_block *b) {
    for (u32 i = 0; i < b->n_insns; i++)
        if (tr_insns(b)[i].rep) return true;
    return false;
}

static struct cg_counter *make(struct thread *t, struct cg_context *x, const struct ip_tr_block *b) {
    struct cg_counter *c = cg_alloc(t, sizeof *c + b->n_insns * sizeof c->runs[0]);
    bool stays = b->end == IP_TR_NEXT || b->end == IP_TR_JCC || b->end == IP_TR_SYSTEM || b->end == IP_TR_REQUEST;
    c->context = x;
    c->block = b;
    c->after = stays ? x : b->end == IP_TR_JMPI ? (struct cg_context *)((u64)x | CG_JUMPS) : (struct cg_context *)2;
    c->n = b->n_insns;
    c->repeats = repeats(b);
    c->next = x->counters;
    __atomic_store_n(&x->counters, c, __ATOMIC_RELEASE);
    return c;
}

/* Of the block in the present context. */
struct cg_counter *cg_counter_of(struct thread *t, const struct ip_tr_block *b) {
    struct cg_context *x = t->shared.context;
    struct cg_slot *s = &t->slots[b->number];
    bool slow = cg.n_events > 1 || cg.jumps || cg.dump_every || !t->collects;
    if (s->context == (struct cg_context *)((u64)x | CG_SLOW) && (slow || s->counter->repeats)) return s->counter;
    if (s->context == x && !slow) return s->counter;
    u64 h = hash((u64)x, (u64)b);
    struct cg_counter *c;
    while ((c = t->counters[h & (t->counters_size - 1)]) && (c->context != x || c->block != b)) h++;
    if (!c) {
        t->counters[h & (t->counters_size - 1)] = c = make(t, x, b);
        if (++t->n_counters * 2 > t->counters_size) grow(t);
    }
    s->counter = c;
    s->context = slow || c->repeats ? (struct cg_context *)((u64)x | CG_SLOW) : x;
    s->step = 1u + b->n_words;
    return c;
}

u64 *cg_extra(struct thread *t, struct cg_counter *c, u64 insn) {
    if (!c->extra) {
        u64 *fresh = cg_alloc(t, c->n * cg.n_events * sizeof *fresh);
        __atomic_store_n(&c->extra, fresh, __ATOMIC_RELEASE);
    }
    return c->extra + insn * cg.n_events;
}

struct cg_frame *cg_push_frame(struct thread *t) {
    u64 bytes = t->shared.frame_bytes;
    if (t->shared.depth == t->frames_room) {
        u8 *bigger = new_frames(t, 2 * t->frames_room);
        memcpy(bigger - bytes, t->shared.frames - bytes, (t->frames_room + 1) * bytes);
        rt_free_pages(t->shared.frames - bytes, (t->frames_room + 1) * bytes);
        t->shared.frames = bigger;
        t->frames_room *= 2;
    }
    t->shared.depth++;
    struct cg_frame *f = cg_top(t);
    f->own = 0;
    f->base = 0;
    f->where = IP_CT_NOWHERE;
    f->block = 0;
    return f;
}
