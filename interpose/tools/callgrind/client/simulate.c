/* What runs cost beside instructions: caches, branches, locked instructions.
 *
 * Two levels of caches, set-associative, the least recently used line goes.  An access that lies in two lines is one
 * access, and one miss if either is missing; the last level is asked about what the first one misses.  Level 1 is each
 * thread's own, as on a machine with a CPU for each; the last level is everybody's. */
#include "runtime/base/rt.h"
#include "tools/callgrind/client/callgrind.h"

struct cache {
    u64 *lines; /* ways of each set, the most recently used one first: numbers of lines, 0 none */
    u8 *dirty;  /* likewise, of a cache that writes back */
    u64 sets;
    u32 ways, shift; /* log2 of a line's bytes */
};

#define CONDITIONAL (1u << 14)
#define HISTORY     7
#define INDIRECT    512

struct cg_caches {
    struct cache i1, d1;
    u64 i_line;                  /* that of the instruction fetched last: in i1, and its set's first */
    u32 history;                 /* the last conditional branches, newest in bit 0 */
    u8 conditional[CONDITIONAL]; /* 2-bit counters, by address and history */
    u64 indirect[INDIRECT];      /* last targets, by address */
};

static struct cache last_level;
static rt_lock_t last_level_lock;

static void make(struct cache *c, const struct cg_geometry *g, bool writes_back) {
    c->ways = g->ways;
    c->sets = g->size / (g->ways * g->line);
    c->shift = (u32)__builtin_ctz(g->line);
    c->lines = rt_pages(c->sets * c->ways * sizeof *c->lines);
    if (writes_back) c->dirty = rt_pages(c->sets * c->ways);
}

static struct cg_caches *simulator(struct thread *t) {
    if (t->caches) return t->caches;
    t->caches = rt_pages(sizeof *t->caches);
    if (cg.caches) {
        make(&t->caches->i1, &cg.i1, false);
        make(&t->caches->d1, &cg.d1, false);
        rt_lock(&last_level_lock);
        if (!last_level.lines) make(&last_level, &cg.ll, cg.write_back);
        rt_unlock(&last_level_lock);
    }
    return t->caches;
}

/* One line: was it there?  It is the most recently used from now on. */
static bool touch_line(struct cache *c, u64 line, bool write, bool *wrote_back) {
    u64 set = line & (c->sets - 1);
    u64 *way = c->lines + set * c->ways;
    if (way[0] == line) {
        if (c->dirty && write) c->dirty[set * c->ways] = 1;
        return true;
    }
    u32 i = 1;
    while (i < c->ways && way[i] != line) i++;
    bool hit = i < c->ways;
    if (!hit) i = c->ways - 1;
    for (u32 k = i; k > 0; k--) way[k] = way[k - 1];
    if (way[0] != line || c->ways == 1) way[0] = line;
    if (c->dirty) {
        u8 *dirty = c->dirty + set * c->ways, was = dirty[i];
        for (u32 k = i; k > 0; k--) dirty[k] = dirty[k - 1];
        if (!hit && was) *wrote_back = true;
        dirty[0] = (hit && was) || write;
    }
    return hit;
}

static bool touch(struct cache *c, u64 addr, u64 size, bool write, bool *wrote_back) {
    u64 first = addr >> c->shift, last = (addr + size - 1) >> c->shift;
    bool hit = touch_line(c, first, write, wrote_back);
    if (last != first) hit &= touch_line(c, last, write, wrote_back);
    return hit;
}

/* Count an event of an instruction. */
static inline void count(struct thread *t, u64 *extra, enum cg_event e, u64 n) {
    int place = cg_place(e);
    if (place < 0) return;
    extra[place] += n;
    t->shared.total[place] += n;
}

/* After a miss of level 1, and, with write-back, after each write that it passes on. */
static void last(struct thread *t, u64 *extra, u64 addr, u64 size, enum cg_event miss, bool write) {
    bool wrote_back = false;
    rt_lock(&last_level_lock);
    bool hit = touch(&last_level, addr, size, write, &wrote_back);
    rt_unlock(&last_level_lock);
    if (!hit) count(t, extra, miss, 1);
    if (wrote_back) count(t, extra, (enum cg_event)(miss + 3), 1);
}

static void fetch_line(struct thread *t, struct cg_caches *s, struct cg_counter *c, u64 i,
                       const struct ip_tr_insn *insn, u64 end) {
    bool ignored;
    bool hit = touch(&s->i1, insn->pc, insn->len, false, &ignored);
    s->i_line = end;
    if (hit) return;
    u64 *extra = cg_extra(t, c, i);
    count(t, extra, CG_I1MR, 1);
    last(t, extra, insn->pc, insn->len, CG_ILMR, false);
}

static inline void fetch(struct thread *t, struct cg_caches *s, struct cg_counter *c, u64 i,
                         const struct ip_tr_insn *insn) {
    u64 first = insn->pc >> s->i1.shift, end = (insn->pc + insn->len - 1) >> s->i1.shift;
    if (first != s->i_line || end != first) fetch_line(t, s, c, i, insn, end);
}

static void access(struct thread *t, struct cg_caches *s, u64 *extra, u64 addr, u64 size, bool write) {
    bool ignored;
    int place = cg_place(write ? CG_DW : CG_DR);
    extra[place]++;
    t->shared.total[place]++;
    /* Most often it is the set's most recently used line. */
    u64 line = addr >> s->d1.shift;
    bool hit = (addr + (size ? size : 1) - 1) >> s->d1.shift == line &&
               s->d1.lines[(line & (s->d1.sets - 1)) * s->d1.ways] == line;
    if (!hit) hit = touch(&s->d1, addr, size ? size : 1, false, &ignored);
    if (!hit) {
        count(t, extra, write ? CG_D1MW : CG_D1MR, 1);
        last(t, extra, addr, size ? size : 1, write ? CG_DLMW : CG_DLMR, write);
    } else if (write && last_level.dirty) {
        bool wrote_back = false;
        rt_lock(&last_level_lock);
        touch(&last_level, addr, size ? size : 1, true, &wrote_back);
        rt_unlock(&last_level_lock);
    }
}

/* ---- Branches ---------------------------------------------------------------------------------- */

static void predict(struct thread *t, u64 *extra, u64 pc, bool taken) {
    struct cg_caches *s = simulator(t);
    u8 *counter = &s->conditional[(pc << HISTORY | s->history) & (CONDITIONAL - 1)];
    count(t, extra, CG_BC, 1);
    if ((*counter >= 2) != taken) count(t, extra, CG_BCM, 1);
    if (taken && *counter < 3) ++*counter;
    if (!taken && *counter > 0) --*counter;
    s->history = (s->history << 1 | taken) & ((1u << HISTORY) - 1);
}

void cg_branch(struct thread *t, struct cg_counter *c, u64 insn, bool taken) {
    predict(t, cg_extra(t, c, insn), cg_insns(c->block)[insn].pc, taken);
}

void cg_indirect(struct thread *t, struct cg_counter *c, u64 insn, u64 target) {
    u64 *extra = cg_extra(t, c, insn), *last_target = &simulator(t)->indirect[cg_insns(c->block)[insn].pc % INDIRECT];
    count(t, extra, CG_BI, 1);
    if (*last_target != target) count(t, extra, CG_BIM, 1);
    *last_target = target;
}

/* ---- Instructions -------------------------------------------------------------------------------- */

enum locking { NOT_LOCKED, LOCKED, LOCKED_EXCHANGE /* by comparing: one access */ };

/* The prefix, and xchg with memory, which locks without. */
static enum locking locking_of(const struct ip_tr_insn *insn) {
    const u8 *b = insn->bytes, *end = b + insn->len;
    bool lock = false;
    while (b < end && (*b == 0xf0 || *b == 0x66 || *b == 0x67 || *b == 0xf2 || *b == 0xf3 || *b == 0x2e || *b == 0x36 ||
                       *b == 0x3e || *b == 0x26 || *b == 0x64 || *b == 0x65 || (*b & 0xf0) == 0x40))
        lock |= *b++ == 0xf0;
    if (b + 1 >= end) return NOT_LOCKED;
    if (b[0] == 0x86 || b[0] == 0x87) return b[1] < 0xc0 ? LOCKED : NOT_LOCKED;
    if (!lock) return NOT_LOCKED;
    return b[0] == 0x0f && (b[1] == 0xb0 || b[1] == 0xb1 || b[1] == 0xc7) ? LOCKED_EXCHANGE : LOCKED;
}

static bool same_place(const struct ip_tr_access *a, const struct ip_tr_access *b) {
    return a->base == b->base && a->index == b->index && a->disp == b->disp && a->scale == b->scale &&
           a->seg == b->seg && a->size == b->size;
}

static u64 address(const struct thread *t, const struct ip_tr_access *a, const u64 *words) {
    u64 at = (u64)a->disp;
    if (a->base != 0xffff) at += words[a->base];
    if (a->index != 0xffff) {
        if (a->flags & IP_TRA_BIT)
            at += (u64)((i64)words[a->index] >> 3) & ~(u64)(a->size - 1);
        else
            at += words[a->index] * a->scale;
    }
    if (a->flags & IP_TRA_ADDR32) at = (u32)at;
    return at + (a->seg == IP_SEG_FS ? t->fs : a->seg == IP_SEG_GS ? t->gs : 0);
}

static void repeated(struct thread *t, struct cg_caches *s, struct cg_counter *c, u64 i, const u64 *words) {
    const struct ip_tr_insn *insn = &cg_insns(c->block)[i];
    const struct ip_tr_access *a = cg_accesses(c->block) + insn->first_access;
    const u64 *turns = words + insn->rep_words;
    u64 n = turns[0] - turns[1], *extra = cg_extra(t, c, i);
    if (cg.caches)
        for (u64 k = 0; k < n; k++)
            for (u32 j = 0; j < insn->n_accesses; j++) {
                /* The register that moved tells the direction. */
                u64 start = address(t, &a[insn->n_accesses - 1], words);
                u64 step = turns[2] >= start ? a[j].size : -(u64)a[j].size;
                access(t, s, extra, address(t, &a[j], words) + k * step, a[j].size, a[j].kind == IP_ACC_W);
            }
    if (cg.branches && n) {
        /* Turns beyond those that the history remembers are predicted. */
        u64 simulated = n - 1 < 16 ? n - 1 : 16;
        for (u64 k = 0; k < simulated; k++) predict(t, extra, insn->pc, true);
        count(t, extra, CG_BC, n - 1 - simulated);
        predict(t, extra, insn->pc, false);
    }
}

/* ---- Plans: what of a block is to be simulated, found out once ------------------------------------------------ */

enum step { ACCESS, REPEATED, LOCKS, PASSED /* a branch that is not the block's end */ };

struct plan {
    u32 n, pad;
    struct {
        u16 insn, access;
        u8 step, write;
    } item[];
};

static void add(struct plan *p, u64 insn, u32 access, enum step step, bool write) {
    p->item[p->n].insn = (u16)insn;
    p->item[p->n].access = (u16)access;
    p->item[p->n].step = (u8)step;
    p->item[p->n++].write = write;
}

static void plan_data(struct plan *p, const struct ip_tr_block *b, u64 i) {
    const struct ip_tr_insn *insn = &cg_insns(b)[i];
    const struct ip_tr_access *a = cg_accesses(b) + insn->first_access;
    enum locking locking = insn->n_accesses > 1 ? locking_of(insn) : NOT_LOCKED;
    for (u32 j = 0; j < insn->n_accesses; j++) {
        if (a[j].flags & IP_TRA_PREFETCH) continue;
        bool write = a[j].kind == IP_ACC_W, modified = false;
        /* What is read and written at once counts as written. */
        for (u32 k = j + 1; !write && locking != LOCKED && k < insn->n_accesses; k++)
            modified |= a[k].kind == IP_ACC_W && same_place(&a[j], &a[k]);
        if (!modified) add(p, i, insn->first_access + j, ACCESS, write);
    }
}

static struct plan *plan_of(struct thread *t, struct cg_counter *c) {
    const struct ip_tr_block *b = c->block;
    if (c->plan) return (struct plan *)c->plan;
    struct plan *p = cg_alloc(t, sizeof *p + (b->n_accesses + 2u * b->n_insns) * sizeof p->item[0]);
    bool locks = cg_place(CG_GE) >= 0;
    for (u64 i = 0; i < b->n_insns; i++) {
        const struct ip_tr_insn *insn = &cg_insns(b)[i];
        if (insn->rep && insn->rep_words != 0xffff)
            add(p, i, 0, REPEATED, false);
        else if (cg.caches)
            plan_data(p, b, i);
        if (locks && locking_of(insn) != NOT_LOCKED) add(p, i, 0, LOCKS, false);
        if (cg.branches && insn->kind == IP_TR_COND_JUMP && i + 1 < b->n_insns) add(p, i, 0, PASSED, false);
    }
    c->plan = p;
    return p;
}

static void locked(struct thread *t, struct cg_counter *c, u64 i) {
    const struct ip_tr_insn *insn = &cg_insns(c->block)[i];
    u64 *extra = cg_extra(t, c, i);
    count(t, extra, CG_GE, 1);
    if (cg.branches && locking_of(insn) == LOCKED) predict(t, extra, insn->pc, false); /* Valgrind tries in a loop */
}

/* A run: words are those of its record. */
void cg_simulate(struct thread *t, struct cg_counter *c, const u64 *words, u64 done) {
    struct cg_caches *s = simulator(t);
    const struct plan *p = plan_of(t, c);
    const struct ip_tr_insn *insn = cg_insns(c->block);
    const struct ip_tr_access *a = cg_accesses(c->block);
    u64 fetched = done;
    /* Nearly every block lies in the line that was fetched last, or begins in it. */
    if (cg.caches && done) {
        u64 end = insn[done - 1].pc + insn[done - 1].len - 1;
        if (insn[0].pc >> s->i1.shift != s->i_line || end >> s->i1.shift != s->i_line || end < insn[0].pc) fetched = 0;
    }
    for (u32 k = 0; k < p->n; k++) {
        u64 i = p->item[k].insn;
        if (i >= done) break;
        while (fetched <= i) {
            fetch(t, s, c, fetched, &insn[fetched]);
            fetched++;
        }
        switch (p->item[k].step) {
        case ACCESS: {
            const struct ip_tr_access *one = &a[p->item[k].access];
            access(t, s, cg_extra(t, c, i), address(t, one, words), one->size, p->item[k].write);
            break;
        }
        case REPEATED: repeated(t, s, c, i, words); break;
        case LOCKS: locked(t, c, i); break;
        default:
            /* Those taken are settled elsewhere. */
            if (i + 1 < done) predict(t, cg_extra(t, c, i), insn[i].pc, false);
        }
    }
    for (; fetched < done; fetched++) fetch(t, s, c, fetched, &insn[fetched]);
}
