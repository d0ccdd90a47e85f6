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
ORDER(IP_CT_MAX_WORDS == 1 << 21 && IP_CT_CALLED >> 21 == 512 && IP_CT_TAILED == IP_CT_CALLED + IP_CT_MAX_WORDS);
ORDER(CG_TAIL == 1 && CG_F_SKIP == 0x400000 && (CG_TAIL | CG_SKIP) == 3 && CG_P_STAY == 16 && CG_P_ABOVE == 32 &&
      CG_P_FRAME == 3);
ORDER(IP_CT_F_ENDS == (CG_TAIL | CG_SKIP | CG_QUICK | CG_SETTLED | CG_INNER) && CG_QUICK == 0x100);
ORDER(IP_CT_RETURNED >> 24 == 0x90 && IP_CT_NOWHERE == UINT32_MAX);
ORDER(sizeof(struct cg_pair) == 1 << 6 && CG_PAIRS_MOST == 1 << (32 - 14));
ORDER(offsetof(struct cg_pair, block) == 4 && offsetof(struct cg_pair, key) == 8);
ORDER(offsetof(struct cg_pair, to) == 16);
ORDER(offsetof(struct cg_pair, call) == 24 && offsetof(struct cg_pair, counter) == 32);
ORDER(offsetof(struct cg_pair, active) == 40 && offsetof(struct cg_pair, base) == 48);
ORDER(offsetof(struct cg_pair, where) == 56 && offsetof(struct cg_pair, insn) == 60);
ORDER(offsetof(struct cg_pair, flags) == 62 && offsetof(struct cg_pair, level) == 63);
ORDER(offsetof(struct cg_call, count) == IP_CT_COUNT && offsetof(struct cg_call, cost) == IP_CT_COUNT + 8);
ORDER(IP_CT_COUNT == 40);
ORDER(offsetof(struct cg_frame, counter) == 8 && offsetof(struct cg_frame, own) == 16);
ORDER(offsetof(struct ip_ct_site, where) == 0 && offsetof(struct ip_ct_site, callee) == 4);
ORDER(offsetof(struct ip_ct_site, active) == 8 && offsetof(struct ip_ct_site, link) == 12);
ORDER(offsetof(struct ip_ct_site, at) == 16 && sizeof((struct ip_ct_site *)0)->at[0] == 16);
ORDER(offsetof(struct ip_ct_site, link_insns) == 48 && sizeof(struct ip_ct_site) == 8 * IP_CT_SITE_WORDS);
ORDER(offsetof(struct cg_frame, block) == offsetof(struct cg_frame, where) + 4);
ORDER(offsetof(struct cg_frame, insn) == offsetof(struct cg_frame, flags) + 4);
#define SAME(tools, field)                                                                                             \
    _Static_assert(offsetof(struct cg_frame, tools) == offsetof(struct ip_ct_frame, field),                            \
                   "count.h: struct ip_ct_frame")
SAME(call, call);
SAME(flags, flags);
SAME(insn, insn);
SAME(sp, sp);
SAME(active, active);
SAME(base, base);
SAME(where, where);
SAME(block, block);
SAME(began, began);
_Static_assert(sizeof(struct cg_frame) == sizeof(struct ip_ct_frame), "struct ip_ct_frame");
_Static_assert(IP_CT_APART == (CG_F_SKIP | CG_F_UNKNOWN), "contexts whose blocks have counters of their own");
_Static_assert(IP_CT_UNNAMED == CG_F_UNKNOWN, "functions that have parts");
_Static_assert(IP_CT_LINK == CG_F_SKIP, "code that leads on");

/* From the call of a quick frame at the second level of recursion to its site. */
#define SITE_OF_CALL  (IP_CT_COUNT - offsetof(struct ip_ct_site, at[1]))
#define COUNTER_BYTES (IP_CT_MAX_WORDS * sizeof(u64))

/* ---- From the state, and back ------------------------------------------------------------------- */

static u64 frame_at(const struct thread *t, u64 depth) {
    return (u64)t->shared.frames + depth * sizeof(struct cg_frame) - sizeof(struct cg_frame);
}

/* Of so many frames the newest one; of none what runs outside of all. */
static struct cg_frame *frame_of(const struct thread *t, u64 depth) { return (struct cg_frame *)frame_at(t, depth); }

static const struct ip_tr_block *template_at(u32 address) { return (const struct ip_tr_block *)(u64)address; }

/* The context of the block's function. */
static struct cg_context *context_at(struct thread *t, const struct ip_tr_block *b, u64 level) {
    struct cg_function *f = cg_function_of(t, b->function, b->where & IP_CT_BLOCK ? b->home : b->pc, b);
    return cg_context_at(t, cg_family_of(t, f, 0), level);
}

static u64 caller_with(struct thread *t, u32 word);

/* What translated code and arrive.S have left out of a frame, that is a call from context x. */
static void settle_frame(struct thread *t, struct cg_frame *f, struct cg_context *x) {
    if (f->flags & CG_SETTLED) return;
    f->context = x;
    if (f->flags & CG_QUICK) {
        u64 at = (u64)f->call + (f->flags & CG_INNER ? 0 : sizeof((struct ip_ct_site *)0)->at[0]) + SITE_OF_CALL;
        const struct ip_tr_block *from = template_at((u32)caller_with(t, (u32)((at - f[-1].base) / sizeof(u64))));
        t->shared.context = x;
        f->counter = cg_counter_of(t, from);
        f->insn = from->n_insns - 1u;
        f->own = context_at(t, template_at(f->block), f->flags & CG_INNER ? 1 : 0);
    }
    f->flags |= CG_SETTLED;
}

static void settle_frames(struct thread *t) {
    u64 d = t->shared.depth;
    while (d && !(frame_of(t, d)->flags & CG_SETTLED)) d--;
    for (; d < t->shared.depth; d++) settle_frame(t, frame_of(t, d + 1), frame_of(t, d)->own);
    t->shared.context = frame_of(t, t->shared.depth)->own;
}

static void settle_left(struct thread *t) {
    struct cg_context *x = t->shared.context;
    for (u32 i = 0; i < t->n_left; i++) {
        const struct cg_left *l = &t->left[i];
        t->shared.context = l->context ? l->context : context_at(t, l->began, l->level);
        cg_counter_of(t, l->block)->runs[l->done]++;
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
    settle_frames(t);
    settle_left(t);
    return t;
}

/* Everything but where the next block is counted. */
static void give_back(struct tstate *ts, struct thread *t) {
    bool counts = t->collects && cg_root.instrument;
    struct cg_frame *top = frame_of(t, t->shared.depth);
    top->own = t->shared.context;
    top->flags |= CG_SETTLED;
    ts->ct_top = (u64)top;
    for (int i = 1; i < IP_CT_TOTALS; i++) ts->ct_total[i] = 0;
    ts->ct_total[0] = t->frozen = t->shared.total[0];
    ts->ct_popped = 0;
    ts->ct_slow = counts ? 0 : IP_CT_FROZEN;
    ts->ct_limit = counts ? frame_at(t, t->frames_room) : 0;
}

/* The next block arrives, wherever it is, and nobody has left for it. */
static void nowhere(struct tstate *ts) {
    struct thread *t = cg_thread_of(ts);
    ts->ct_base = (u64)t->sink;
    ts->ct_where = IP_CT_NOWHERE;
    ts->ct_from = 0;
}

static void give_back_nowhere(struct tstate *ts, struct thread *t) {
    give_back(ts, t);
    nowhere(ts);
}

/* The site of the call that has left ct_where, or 0. */
static struct ip_ct_site *called_from(const struct tstate *ts) {
    u32 word = ts->ct_where - IP_CT_CALLED;
    if (word >= IP_CT_MAX_WORDS) word = ts->ct_where - IP_CT_TAILED;
    return word < IP_CT_MAX_WORDS ? (struct ip_ct_site *)(ts->ct_base + 8ull * word) : 0;
}

/* The template that has the word for a site. */
static u64 caller_with(struct thread *t, u32 word) {
    const struct ip_meta *meta = (const struct ip_meta *)IP_META_BASE;
    while (!t->callers[word] && t->next_caller < meta->trace_used) {
        const struct ip_tr_block *b = (const struct ip_tr_block *)(IP_TRACE_BASE + t->next_caller);
        if (b->site_word && b->first_word + b->site_word < IP_CT_MAX_WORDS)
            t->callers[b->first_word + b->site_word] = (u32)(u64)b;
        t->next_caller += b->bytes;
    }
    return t->callers[word];
}

/* Who has left, as in ct_from, of whatever kind: 0 if nobody has. */
static u64 who_left(struct tstate *ts, struct thread *t) {
    u32 where = ts->ct_where;
    u64 from = ts->ct_from;
    if (where - IP_CT_CALLED < IP_CT_MAX_WORDS) return caller_with(t, where - IP_CT_CALLED) | IP_CT_CALL;
    if (where - IP_CT_TAILED < IP_CT_MAX_WORDS) return caller_with(t, where - IP_CT_TAILED) | IP_CT_JUMP;
    if (where >> 24 == IP_CT_RETURNED >> 24) return IP_TRACE_BASE + 8ull * (where & 0xffffff) + IP_CT_RETURN;
    if (where == IP_CT_ASKED) return 0;
    return where == IP_CT_NOWHERE || !(from & IP_CT_CALL) ? from : 0; /* else a call's from long ago */
}

/* ---- Arrivals -------------------------------------------------------------------------------------- */

static u32 where_of(const struct ip_tr_block *b) { return b->where ? b->where : IP_CT_BLOCK | (u32)(u64)b; }

/* The table of the context's own for parts of other functions, with this part in it; 0: there are too many. */
static u64 apart_with(struct thread *t, struct cg_context *x, u32 where) {
    if (!x->apart) {
        if (t->n_apart == CG_APART) return 0;
        t->n_apart++;
        x->apart = (u64)rt_pages(COUNTER_BYTES);
    }
    for (const struct cg_part *p = x->parts; p; p = p->next)
        if (p->where == where) return x->apart;
    struct cg_part *p = cg_alloc(t, sizeof *p);
    p->where = where;
    p->next = x->parts;
    __atomic_store_n(&x->parts, p, __ATOMIC_RELEASE);
    return x->apart;
}

/* Where all blocks that have the block's ct_where are counted in this context; 0: each has counters of its own. */
static u64 home_of(struct thread *t, struct cg_context *x, const struct ip_tr_block *b) {
    const struct cg_family *f = x->family;
    if (x->base && x->where == b->where) return x->base;
    if (!b->where || x->caller || f->depth || x->function != b->function) return 0;
    bool other = b->where & IP_CT_BLOCK && b->home != f->function->entry;
    u64 apart = other ? apart_with(t, x, b->where) : 0;
    if (apart) return apart;
    u64 **counters = &t->shared.levels[x->level];
    if (!*counters) *counters = rt_pages(COUNTER_BYTES);
    /* With too many tables, what begins with the part itself has the costs.  Counters of the block's own would not do:
     * blocks of one ct_where go past each other's test of it (chain.c). */
    if (other) return (u64)*counters;
    x->where = b->where;
    return x->base = (u64)*counters;
}

/* Of counters that the block has for itself in a context: as if of word 0. */
static u64 base_of(const struct cg_counter *c, const struct ip_tr_block *b) {
    return (u64)c->counts - b->first_word * sizeof *c->counts;
}

/* Count the block in the thread's context. */
static void place(struct tstate *ts, struct thread *t, const struct ip_tr_block *b) {
    struct cg_context *x = t->shared.context;
    struct cg_frame *top = frame_of(t, t->shared.depth);
    top->where = IP_CT_NOWHERE;
    u64 home = t->collects ? home_of(t, x, b) : 0;
    if (!t->collects) {
        nowhere(ts);
    } else if (home) {
        ts->ct_base = top->base = home;
        ts->ct_where = top->where = b->where;
    } else {
        struct cg_counter *c = cg_counter_of(t, b);
        if (!c->counts) {
            u64 *fresh = cg_alloc(t, b->n_words * sizeof *fresh);
            __atomic_store_n(&c->counts, fresh, __ATOMIC_RELEASE);
        }
        ts->ct_base = top->base = base_of(c, b);
        ts->ct_where = b->where ? IP_CT_NOWHERE : where_of(b);
    }
}

/* Is base that of all of the context's blocks that have this one's ct_where? */
static bool is_home(const struct cg_context *x, const struct ip_tr_block *b, u64 base) {
    return base && (x->where == b->where ? base == x->base : base == x->apart);
}

/* Is the block counted at base, in the context? */
static bool is_placed(const struct cg_context *x, const struct ip_tr_block *b, const struct cg_counter *c, u64 base) {
    return is_home(x, b, base) || (c && c->counts && base == base_of(c, b));
}

static struct cg_pair *pair_for(const struct thread *t, u32 from, u32 block, u64 key) {
    u32 hash = (block + 2 * from + (u32)key) * 0x9e3779b1u;
    return &t->pairs[hash >> 14 & (t->n_pairs - 1)];
}
_Static_assert(CG_PAIRS_MOST == 1 << (32 - 14), "pair_for");

/* Where another has been, that goes to its neighbour: of two that meet in one place both stay. */
static void put_pair(struct thread *t, const struct cg_pair *p) {
    struct cg_pair *at = pair_for(t, p->from, p->block, p->key), *neighbour = &t->pairs[(u64)(at - t->pairs) ^ 1];
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

/* The way from one block to another that has just been gone, in context x. */
struct way {
    u32 from, left; /* low half of ct_from, 0: nobody has left; instructions that it completed, 0: all */
    struct cg_context *x;
    u32 began;       /* template that the frame began with */
    u64 base, depth; /* the key: ct_base, or from 0 the frame's (arrive.S: own); frames before it */
    u64 sp;          /* now */
};
/* The caller, if the way is a call or a tail call from a site; or 0. */
static const struct ip_tr_block *sited_caller(const struct way *w) {
    const struct ip_tr_block *from = template_at(w->from & ~(u32)IP_CT_KIND);
    u32 kind = w->from & IP_CT_KIND;
    bool calls = kind == IP_CT_CALL || (kind == IP_CT_JUMP && w->from && !w->left);
    return calls && from->site_word ? from : 0;
}

static bool has_link(const struct ip_tr_block *from) { return from->n_words - from->site_word == IP_CT_SITE_WORDS; }

/* Has the jump at the end of from gone through what leads on to b? */
static bool is_led(const struct ip_tr_block *from, const struct ip_tr_block *b) {
    return has_link(from) && !(b->function & IP_CT_LINK);
}

/* What the tool has said about the newest frame. */
static u32 top_flags(struct thread *t) { return cg_top(t)->flags & ~(u32)CG_SETTLED; }

#define BY_FRAME 4 /* arrive.S: bit of cg_pair.from, which then is a frame's block */

static void remember(struct tstate *ts, struct thread *t, const struct way *w, const struct ip_tr_block *b) {
    struct cg_pair p = {.block = (u32)(u64)b, .key = w->base, .to = t->shared.context};
    /* Templates are longer than eight bytes an instruction, so another begins behind all that one can be left at. */
    const struct ip_tr_block *caller = sited_caller(w);
    p.from = !w->from ? w->began | BY_FRAME
             : caller ? 8 * (caller->first_word + caller->site_word) | (w->from & IP_CT_KIND)
                      : w->from + 8 * w->left;
    _Static_assert(sizeof(struct ip_tr_insn) >= 8, "from");
    if (!w->from && !w->began) return;
    p.base = ts->ct_base;
    p.where = ts->ct_where;
    if (t->shared.depth == w->depth && t->shared.context == w->x) {
        p.flags = CG_P_STAY;
    } else if (t->shared.depth == w->depth + 1 && w->from) {
        const struct cg_frame *f = cg_top(t);
        u32 flags = top_flags(t);
        if (flags & ~(u32)CG_P_FRAME || f->context != w->x || f->insn > UINT16_MAX) return;
        p.flags = (u8)flags;
        p.call = f->call;
        p.counter = f->counter;
        p.insn = (u16)f->insn;
        p.active = f->active;
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

/* Make the call's site know what it has called, if translated code can count such calls. */
static bool connect(struct thread *t, const struct way *w, const struct ip_tr_block *b) {
    const struct ip_tr_block *from = sited_caller(w);
    if (!from || t->shared.depth != w->depth + 1 || !is_home(w->x, from, w->base) || cg.recursions != 2) return false;
    struct ip_ct_site *site = (struct ip_ct_site *)(w->base + 8ull * (from->first_word + from->site_word));
    bool tail = (w->from & IP_CT_KIND) == IP_CT_JUMP, links = has_link(from);
    u32 flags = top_flags(t) ^ (tail && !is_led(from, b) ? CG_TAIL : 0);
    if (tail && cg_top(t)->sp != w->sp + 8) return false;
    if (flags == CG_SKIP && b->end == IP_TR_JMPI && links && !site->link) {
        site->link = (u32)(u64)b;
    } else if (!flags && b->active_word && site->callee == (u32)(u64)b) {
        return true;
    } else if (!flags && b->active_word && !site->callee) {
        const struct cg_context *y = t->shared.context;
        u64 *levels = t->shared.levels[0];
        bool plain = cg_top(t)->active == (u32 *)(levels + b->first_word + b->active_word) && y->level < 2;
        if (!plain || y->base != (u64)t->shared.levels[y->level] || y->where != b->where) return false;
        /* Such a jump may also go back to the function below (cg_jumped): not the same each time. */
        const struct cg_function *f = y->family->function;
        if (tail && !links && (cg_is_unknown(f) || f->entry != b->pc)) return false;
        site->where = b->where;
        site->active = b->first_word + b->active_word;
        __atomic_store_n(&site->callee, (u32)(u64)b, __ATOMIC_RELEASE);
        return true;
    }
    return false;
}

/* The block runs, and is not counted. */
static void into_sink(struct tstate *ts, const struct thread *t, const struct ip_tr_block *b) {
    ts->ct_from = 0;
    ts->ct_base = (u64)t->sink;
    ts->ct_where = where_of(b);
}

void cg_arrive(struct tstate *ts, const struct ip_tr_block *b) {
    struct thread *t = take(ts);
    if (!cg_counts(ts)) {
        give_back(ts, t);
        into_sink(ts, t, b);
        return;
    }
    struct cg_context *x = t->shared.context;
    struct way way = {.x = x, .depth = t->shared.depth, .base = ts->ct_base};
    u64 who = who_left(ts, t);
    u64 sp = ts->gpr[IP_RSP];
    struct cg_frame *popped = (struct cg_frame *)ts->ct_popped;
    u32 key = (u32)who;
    const struct ip_tr_block *from = template_at(key & ~(u32)IP_CT_KIND);
    u32 done = (u32)(who >> 32);
    bool jumps = !from || popped;
    if (popped) {
        settle_frame(t, popped, x);
        t->shared.context = x;
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
    way.from = popped ? 0 : key;
    way.left = done;
    way.sp = sp;
    bool known = x != 0;
    if (way.from) {
        known = known && is_placed(x, from, t->last, way.base);
    } else {
        const struct cg_frame *top = frame_of(t, way.depth);
        way.began = top->block;
        way.base = (u64)x;
        if (top->flags & CG_QUICK) {
            /* Counters that a block has for itself do not tell the context. */
            way.base = top->base;
            known = known && way.base && (way.base == x->base || way.base == x->apart);
        }
    }
    bool pops = x && x->function & CG_F_POP_ON_JUMP;
    if (jumps)
        cg_jumped(t, b);
    else if (x && (key & IP_CT_KIND) == IP_CT_JUMP && sited_caller(&way) && is_led(from, b))
        cg_led(t, b);
    else
        cg_enter(t, b);
    struct cg_frame *top = frame_of(t, t->shared.depth);
    if (top->own != t->shared.context || !top->block) top->block = (u32)(u64)b;
    give_back(ts, t);
    place(ts, t, b);
    /* After a return that arrive.S has gone, only the block is new. */
    bool stays = popped && t->shared.depth == way.depth && t->shared.context == x;
    bool plain = !popped && (!from || from->end != IP_TR_RET) && !pops;
    if (known && t->collects && (plain || stays)) {
        if (!connect(t, &way, b)) remember(ts, t, &way, b);
    }
}

/* cmps or scas, which end for a flag, too. */
bool cg_compares(const struct ip_tr_insn *insn) {
    u8 op = 0;
    for (u32 k = 0; k < insn->len && k < sizeof insn->bytes; k++) {
        op = insn->bytes[k];
        if (op >= 0xa4 && op <= 0xaf) break;
        if (op >= 0x6c && op <= 0x6f) break;
    }
    return (op & 0xfe) == 0xa6 || (op & 0xfe) == 0xae;
}

bool cg_ended_by_flag(const struct ip_tr_insn *insn, const u64 *words) {
    return words[0] != words[1] && cg_compares(insn) && words[3] != (insn->rep == 0xf3 /* repe */);
}

/* Instructions that it counts as, beside one: each turn, and the look that finds none left; cmps and scas may end
 * before that look. */
u64 cg_more_insns(const struct ip_tr_insn *insn, const u64 *words) {
    return words[0] - words[1] - cg_ended_by_flag(insn, words);
}

void cg_turned(struct tstate *ts, const struct ip_tr_block *b, u64 insn) {
    struct thread *t = take(ts);
    const u64 words[] = {ts->ct_turns, ts->gpr[IP_RCX], 0, (ts->rflags & IP_FL_ZF) != 0};
    u64 more = cg_more_insns(&tr_insns(b)[insn], words);
    if (!more || !t->collects || !cg_root.instrument || !t->shared.context) return;
    cg_extra(t, cg_counter_of(t, b), insn)[0] += more;
    ts->ct_total[0] += more;
}

/* ---- Life -------------------------------------------------------------------------------------------- */

void cg_line_begin(struct tstate *ts) {
    struct thread *t = cg_thread_of(ts);
    if (!t->pairs) make_pairs(ts, t, CG_PAIRS_LEAST);
    if (!t->sink) {
        t->sink = rt_pages(COUNTER_BYTES);
        t->callers = rt_pages(IP_CT_MAX_WORDS * sizeof *t->callers);
        for (int i = 0; i < 2; i++) t->shared.levels[i] = rt_pages(COUNTER_BYTES);
    }
    for (int i = 0; i < 2; i++) ts->ct_levels[i] = (u64)t->shared.levels[i];
    ts->ct_pairs = (u64)t->pairs;
    ts->ct_mask = (t->n_pairs - 1) * sizeof *t->pairs;
    t->shared.context = 0;
    t->shared.depth = 0;
    give_back_nowhere(ts, t);
    __atomic_store_n(&t->shared.ts, (u64)ts, __ATOMIC_RELEASE);
}

void cg_line_end(struct tstate *ts) {
    struct thread *t = take(ts);
    t->shared.ts = 0;
    cg_unwind(t);
    give_back_nowhere(ts, t);
}

/* As the supervisor reads it from the state of a thread that runs. */
void cg_line_forked(struct thread *t) {
    const struct tstate *o = (const struct tstate *)t->shared.ts;
    t->shared.depth = (o->ct_top - frame_at(t, 0)) / sizeof(struct cg_frame);
    if (!(o->ct_slow & IP_CT_FROZEN)) t->shared.total[0] = ct_total(o);
    t->shared.ts = 0;
}

/* The host's signal handler calls it: nothing is allocated. */
void cg_line_left(struct tstate *ts, const struct ip_block *b, const struct ip_point *point) {
    if (!tr_is_recorded(b, point)) return;
    const struct ip_tr_block *block = template_at(b->trace);
    if (point->guest_off >= block->n_insns) return;
    struct thread *t = cg_thread_of(ts);
    struct ip_ct_site *site = called_from(ts);
    const struct cg_frame *top = (const struct cg_frame *)ts->ct_top;
    u64 less = block->n_insns - point->guest_off;
    ts->ct_total[0] -= less;
    if (site && site->link == b->trace) { /* counted there */
        site->link_insns -= less;
        ts->ct_from = who_left(ts, t);
    } else {
        ts->ct_from = 0;
        struct cg_context *x = top->flags & CG_QUICK ? 0 : top->own;
        ((u64 *)ts->ct_base)[block->first_word]--;
        if ((x || top->flags & CG_QUICK) && t->collects && cg_root.instrument && t->n_left < CG_LEFT)
            t->left[t->n_left++] =
                (struct cg_left){block, x, template_at(top->block), (top->flags & CG_INNER) != 0, point->guest_off};
    }
    /* Soon there is room again. */
    ts->ct_where = IP_CT_NOWHERE;
    ts->ct_slow |= IP_CT_LOOK;
    ts->ct_limit = 0;
}

void cg_line_signal(struct tstate *ts, u64 sp) {
    struct thread *t = take(ts);
    u64 who = who_left(ts, t);
    if (cg_counts(ts)) {
        t->sp = who;
        cg_signal(t, sp);
    }
    give_back_nowhere(ts, t);
}

void cg_line_sigreturn(struct tstate *ts) {
    struct thread *t = take(ts);
    u64 who = 0;
    if (cg_counts(ts)) {
        t->sp = 0;
        cg_sigreturn(t);
        who = t->sp;
    }
    give_back_nowhere(ts, t);
    ts->ct_from = who;
}

void cg_line_collect(struct tstate *ts, bool on) {
    struct thread *t = take(ts);
    t->collects = on;
    give_back_nowhere(ts, t);
}

/* Runs that ended early are part of what has been counted, also those of threads at rest that go no further. */
void cg_line_leaving(struct tstate *ts, bool for_exec) {
    struct tstate *o;
    cg_line_poll(ts);
    if (for_exec) return; /* another thread may be running */
    tr_settle_for_all(ts);
    for (u32 i = 0; (o = rt_thread_by_index(i)); i++)
        if (o != ts && rt_is_thread(o) && cg_thread_of(o)->shared.ts) cg_line_poll(o);
}

void cg_line_poll(struct tstate *ts) {
    struct thread *t = cg_thread_of(ts);
    bool was = !ts->ct_slow || !t->collects;
    if (!t->n_left && was == cg_counts(ts)) return;
    t = take(ts);
    give_back_nowhere(ts, t);
}

/* Where counters lie that the block before had for itself, those of others do not. */
void cg_line_unwanted(struct tstate *ts, const struct ip_tr_block *b) {
    struct thread *t = cg_thread_of(ts);
    if (!(ts->ct_slow & IP_CT_FROZEN)) t->shared.total[0] = ct_total(ts);
    ts->ct_slow |= IP_CT_FROZEN;
    ts->ct_limit = 0;
    ts->ct_popped = 0;
    into_sink(ts, t, b);
}

void cg_line_anew(struct tstate *ts) {
    struct thread *t = take(ts);
    cg_unwind(t);
    give_back_nowhere(ts, t);
}
