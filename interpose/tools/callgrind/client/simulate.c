/* What runs cost beside instructions: caches, branches, locked instructions.  The loop of consume.c does what nearly
 * all runs need; here is the rest.
 *
 * Two levels of caches, set-associative, the least recently used line goes.  An access that lies in two lines is one
 * access, and one miss if either is missing; the last level is asked about what the first one misses.  Level 1 is each
 * thread's own, as on a machine with a CPU for each; the last level is everybody's. */
#include "tools/callgrind/client/simulate.h"

static struct {
    u64 *lines; /* ways of each set, the most recently used one first: numbers of lines, 0 none */
    u64 sets;
    u32 ways, shift; /* log2 of a line's bytes */
    rt_lock_t lock;
    u32 forgotten; /* how often all levels were */
} last_level;

#define WRITTEN 1ull

static void make_last_level(const struct cg_geometry *g) {
    rt_lock(&last_level.lock);
    if (!last_level.lines) {
        last_level.ways = g->ways;
        last_level.sets = g->size / (g->ways * g->line);
        last_level.shift = (u32)__builtin_ctz(g->line);
        last_level.lines = rt_pages(last_level.sets * g->ways * sizeof *last_level.lines);
    }
    rt_unlock(&last_level.lock);
}

void cg_last_level_fork_lock(bool lock) {
    if (lock)
        rt_lock(&last_level.lock);
    else
        rt_unlock(&last_level.lock);
}

struct cg_cache *cg_make_cache(const struct cg_geometry *g) {
    u64 sets = g->size / (g->ways * g->line);
    struct cg_cache *c = rt_pages(sizeof *c + sets * g->ways * sizeof c->way[0]);
    c->sets = sets;
    c->ways = g->ways;
    c->shift = (u32)__builtin_ctz(g->line);
    return c;
}

static void forget(struct cg_cache *c) {
    if (c) memset(c->way, 0, c->sets * c->ways * sizeof c->way[0]);
}

/* Whoever switches instrumentation on begins with empty caches, as under Valgrind.  Threads empty their own when they
 * look. */
void cg_forget_lines(void) {
    if (!cg.caches) return;
    rt_lock(&last_level.lock);
    if (last_level.lines) memset(last_level.lines, 0, last_level.sets * last_level.ways * sizeof *last_level.lines);
    forget(cg_last_used());
    last_level.forgotten++;
    rt_unlock(&last_level.lock);
}

static struct cg_sim *up_to_date(struct cg_sim *s) {
    u32 now = __atomic_load_n(&last_level.forgotten, __ATOMIC_RELAXED);
    if (s->forgotten == now) return s;
    forget(s->i1);
    forget(s->d1);
    s->i_line = 0;
    s->forgotten = now;
    return s;
}

struct cg_sim *cg_sim_of(struct thread *t) {
    if (t->sim) return up_to_date(t->sim);
    struct cg_sim *s = rt_pages(sizeof *s);
    s->places = rt_pages(CG_PLACES * sizeof *s->places);
    s->thread = t;
    s->forgotten = last_level.forgotten;
    s->from_templates = (u64)s->places - IP_TRACE_BASE;
    s->cross = cg_slow_cross;
    s->crossing = cg_crossing_of();
    s->slow_data = cg_slow_data;
    s->slow_line = cg_slow_line;
    s->slow_other = cg_slow_other;
    if (cg.caches) {
        s->i1 = cg_make_cache(&cg.i1);
        s->d1 = cg_make_cache(&cg.d1);
        s->i1_ways = s->i1->way;
        s->d1_ways = s->d1->way;
        make_last_level(&cg.ll);
    }
    return t->sim = s;
}

/* ---- Levels ------------------------------------------------------------------------------------------------------ */

static inline __attribute__((always_inline)) struct cg_way *touch(struct cg_cache *c, u64 line, u32 ways, bool *hit) {
    struct cg_way *set = c->way + (line & (c->sets - 1)) * ways;
    u64 least = set[0].used;
    u32 at = ways, oldest = 0;
    /* No jump depends on where it is. */
    for (u32 i = 0; i < ways; i++) {
        u64 used = set[i].used;
        at = set[i].line == line ? i : at;
        oldest = used < least ? i : oldest;
        least = used < least ? used : least;
    }
    *hit = at != ways;
    /* In the place of the one that was not used for longest. */
    struct cg_way *w = set + (at == ways ? oldest : at);
    w->line = line;
    w->used = ++c->clock;
    c->guess[line % CG_GUESSES] = (u16)cg_place_of(c, w);
    return w;
}

struct cg_way *cg_touch(struct cg_cache *c, u64 line, bool *hit) {
    return c->ways == 8 ? touch(c, line, 8, hit) : touch(c, line, c->ways, hit);
}

/* One line: was it there?  It is the most recently used from now on. */
static inline bool first_level_line(struct cg_cache *c, u64 line) {
    struct cg_way *w = cg_guess(c, line);
    bool hit = w->line == line;
    if (hit)
        w->used = ++c->clock;
    else
        cg_touch(c, line, &hit);
    return hit;
}

static inline bool first_level(struct cg_cache *c, u64 first, u64 last) {
    bool hit = first_level_line(c, first);
    if (last != first) hit &= first_level_line(c, last);
    return hit;
}

/* In the set of a line: a number that stands for it.  A flag of the numbers may be no part of what is looked for, and
 * is told of what was found, or is lost. */
static bool last_level_entry(u64 line, u64 number, u64 flag, u64 *flagged) {
    u32 ways = last_level.ways, i = 0;
    u64 *way = last_level.lines + (line & (last_level.sets - 1)) * ways;
    while (i < ways && (way[i] & ~flag) != number) i++;
    bool hit = i < ways;
    if (!hit) i = ways - 1;
    *flagged = way[i] & flag;
    for (u32 k = i; k > 0; k--) way[k] = way[k - 1];
    way[0] = number | (hit ? *flagged : 0);
    return hit;
}

/* A cache that writes back knows a line by the upper bits of its address, in which 1 says that it was written.  Where
 * these are 0, an empty way is the line, as in Valgrind. */
static bool last_level_line(u64 line, bool write, bool *wrote_back) {
    u64 *way = last_level.lines + (line & (last_level.sets - 1)) * last_level.ways, flagged;
    if (!cg.write_back) return last_level_entry(line, line, 0, &flagged);
    bool hit = last_level_entry(line, (line & ~(last_level.sets - 1)) << last_level.shift, WRITTEN, &flagged);
    *wrote_back |= !hit && flagged;
    way[0] |= write ? WRITTEN : 0;
    return hit;
}

/* A thread that is alone keeps it until it has consumed its records. */
static void keep_last_level(struct thread *t) {
    if (t->sim->keeps_last_level) return;
    rt_lock(&last_level.lock);
    t->sim->keeps_last_level = true;
}

void cg_release_last_level(struct thread *t) {
    if (!t->sim->keeps_last_level) return;
    t->sim->keeps_last_level = false;
    rt_unlock(&last_level.lock);
}

/* --simulate-hwpref: for each of eight pages, by their numbers, the line that was asked for last, and how far lines
 * have followed each other, upwards or (negative) downwards.  The third of such a sequence, and all that follow, bring
 * a line that is further on. */
#define STREAMS 8
#define PAGE    12
#define AHEAD   5

static struct {
    u64 line;
    i64 steps;
} streams[STREAMS];

/* The prefetcher knows lines by their whole number, also where the cache writes back: there it fills ways, and odd ones
 * seem written, but brings nothing that is found. */
static void bring(u64 line) {
    u64 flagged;
    last_level_entry(line, line, 0, &flagged);
}

static void prefetch(u64 addr) {
    u64 line = addr >> last_level.shift, at = (addr >> PAGE) % STREAMS;
    i64 steps = streams[at].steps;
    if (line == streams[at].line) return;
    if (line == streams[at].line + 1)
        steps = steps < 0 ? 0 : steps + 1;
    else if (line == streams[at].line - 1)
        steps = steps > 0 ? 0 : steps - 1;
    else
        steps = 0;
    streams[at].line = line;
    streams[at].steps = steps;
    if (steps >= 2) bring(line + AHEAD);
    if (steps <= -2) bring(line - AHEAD);
}

static bool last_level_access(struct thread *t, u64 addr, u64 more, bool write, bool *wrote_back) {
    u64 first = addr >> last_level.shift, last = (addr + more) >> last_level.shift;
    keep_last_level(t);
    if (cg.prefetch) prefetch(addr);
    bool hit = last_level_line(first, write, wrote_back);
    if (last != first) hit &= last_level_line(last, write, wrote_back);
    if (cg_root.threads->next) cg_release_last_level(t);
    return hit;
}

/* Where nothing is collected, caches and predictors go on, and nobody has the costs. */
static inline u64 *extra_of(struct thread *t, struct cg_counter *c, u64 insn) {
    return t->collects ? cg_extra(t, c, insn) : 0;
}

/* Count an event of an instruction. */
static inline void count(struct thread *t, u64 *extra, enum cg_event e, u64 n) {
    int place = cg_place(e);
    if (place < 0 || !extra) return;
    extra[place] += n;
    t->shared.total[place] += n;
}

/* After a miss of level 1. */
static void missed(struct thread *t, u64 *extra, u64 addr, u64 more, enum cg_event miss, bool write) {
    bool wrote_back = false;
    if (!last_level_access(t, addr, more, write, &wrote_back)) count(t, extra, miss, 1);
    if (wrote_back) count(t, extra, (enum cg_event)(miss + 3), 1);
}

/* Where it was found is counted as misses, from I1MR on for a fetch. */
static void use(struct thread *t, struct cg_cache *level, struct cg_counter *c, u64 insn, u64 addr, u64 more,
                enum cg_event miss) {
    keep_last_level(t);
    u32 found = cg_use(t, level, c, insn, addr, more);
    if (cg_root.threads->next) cg_release_last_level(t);
    if (found > 0) count(t, extra_of(t, c, insn), miss, 1);
    if (found > 1) count(t, extra_of(t, c, insn), (enum cg_event)(miss + CG_ILMR - CG_I1MR), 1);
}

static inline void data(struct thread *t, struct cg_counter *c, u64 insn, u64 addr, u64 more, bool write) {
    struct cg_cache *d1 = t->sim->d1;
    if (cg_place(CG_ACCOST1) >= 0) {
        use(t, d1, c, insn, addr, more, write ? CG_D1MW : CG_D1MR);
        return;
    }
    if (!first_level(d1, addr >> d1->shift, (addr + more) >> d1->shift)) {
        u64 *extra = extra_of(t, c, insn);
        count(t, extra, write ? CG_D1MW : CG_D1MR, 1);
        missed(t, extra, addr, more, write ? CG_DLMW : CG_DLMR, write);
    } else if (write && cg.write_back) {
        /* What is written is passed on. */
        bool ignored = false;
        last_level_access(t, addr, more, true, &ignored);
    }
}

u64 cg_data(struct thread *t, const struct cg_place *at, u64 access, u64 addr, u64 clock) {
    const struct cg_plan *p = cg_plan_at(at);
    const struct ip_tr_access *a = &tr_accesses(p->block)[p->templates[access]];
    t->sim->d1->clock = clock;
    data(t, at->counter, a->insn, addr, at->accesses[access].more, a->kind == IP_ACC_W);
    return t->sim->d1->clock;
}

/* A line of the instruction was not in the first level. */
static void count_fetch_miss(struct thread *t, struct cg_counter *c, u64 i) {
    const struct ip_tr_insn *insn = &tr_insns(c->block)[i];
    u64 *extra = extra_of(t, c, i);
    count(t, extra, CG_I1MR, 1);
    missed(t, extra, insn->pc, insn->len - 1, CG_ILMR, false);
}

u64 cg_fetch(struct thread *t, const struct cg_place *at, u64 number, u64 n, u64 clock) {
    struct cg_line *l = cg_plan_at(at)->lines + number;
    struct cg_cache *i1 = t->sim->i1;
    bool hit, ignored;
    i1->clock = clock;
    l->way = (u32)cg_place_of(i1, cg_touch(i1, l->line, &hit));
    if (!hit) {
        /* In two lines, of which this is the first? */
        if (number + 1 < n && l[1].insn == l->insn) l[1].way = (u32)cg_place_of(i1, cg_touch(i1, l[1].line, &ignored));
        count_fetch_miss(t, at->counter, l->insn);
    }
    return i1->clock;
}

static void fetch(struct thread *t, struct cg_counter *c, u64 i) {
    struct cg_sim *s = t->sim;
    const struct ip_tr_insn *insn = &tr_insns(c->block)[i];
    if (cg_place(CG_ACCOST1) >= 0) {
        use(t, s->i1, c, i, insn->pc, insn->len - 1, CG_I1MR);
        return;
    }
    u64 first = insn->pc >> s->i1->shift, last = (insn->pc + insn->len - 1) >> s->i1->shift;
    if (first == s->i_line && last == first) return;
    bool hit = first_level(s->i1, first, last);
    s->i_line = last;
    if (!hit) count_fetch_miss(t, c, i);
}

/* ---- Branches ---------------------------------------------------------------------------------------------------- */

static void conditional(struct thread *t, const struct cg_place *at, struct cg_counter *c, u64 branch, bool taken) {
    u64 history = t->sim->history;
    u64 miss = cg_predict(t->sim->conditional, &history, at->branches[branch], taken);
    t->sim->history = history;
    if (!t->collects) return;
    c->missed[branch] += miss;
    t->shared.total[cg_place(CG_BCM)] += miss;
}

void cg_settle(struct thread *t, const struct ip_tr_block *b) {
    struct cg_counter *c = t->last;
    if (!c || t->done < c->n) return;
    const struct cg_place *last = cg_place_at(t->sim->places, (u32)(u64)c->block);
    if (last->end == IP_TR_JCC) {
        bool taken = b->pc == c->block->target;
        c->taken += t->collects && taken;
        if (cg.branches) conditional(t, last, c, last->end_branch, taken);
    } else if (cg.branches && (last->end == IP_TR_JMPI || last->end == IP_TR_CALLI)) {
        u64 *target = &t->sim->indirect[last->branches[last->end_branch]];
        bool surprise = *target != b->pc;
        *target = b->pc;
        if (!t->collects) return;
        c->missed[last->end_branch] += surprise;
        t->shared.total[cg_place(CG_BI)]++;
        t->shared.total[cg_place(CG_BIM)] += surprise;
    }
}

/* ---- Instructions ------------------------------------------------------------------------------------------------ */

/* A bit's number: as many bytes of the register as the operand has, with a sign. */
static i64 bits_of(const struct ip_tr_access *a, u64 word) {
    return a->scale == 2 ? (int16_t)word : a->scale == 4 ? (int32_t)word : (i64)word;
}

static u64 cg_address(const struct thread *t, const struct ip_tr_access *a, const u64 *words) {
    u64 at = (u64)a->disp;
    if (a->base != 0xffff) at += words[a->base];
    if (a->index != 0xffff) {
        if (a->flags & IP_TRA_BIT)
            at += (u64)(bits_of(a, words[a->index]) >> 3);
        else
            at += (a->flags & IP_TRA_BYTE ? (u8)words[a->index] : words[a->index]) * a->scale;
    }
    if (a->flags & IP_TRA_ADDR32) at = (u32)at;
    return at + (a->seg == IP_SEG_FS ? t->fs : a->seg == IP_SEG_GS ? t->gs : 0);
}

u64 cg_other_address(const struct thread *t, const struct cg_place *at, u64 access, const u64 *words) {
    const struct cg_plan *p = cg_plan_at(at);
    return cg_address(t, &tr_accesses(p->block)[p->templates[access]], words);
}

u64 cg_other(struct thread *t, const struct cg_place *at, u64 access, const u64 *words, u64 clock) {
    return cg_data(t, at, access, cg_other_address(t, at, access, words), clock);
}

static void repeated(struct thread *t, struct cg_counter *c, u64 i, const u64 *words) {
    const struct ip_tr_insn *insn = &tr_insns(c->block)[i];
    const struct ip_tr_access *a = tr_accesses(c->block) + insn->first_access;
    const u64 *turns = words + insn->rep_words;
    u64 n = turns[0] - turns[1], *extra = extra_of(t, c, i), at[2], step = 0;
    u32 n_accesses = insn->n_accesses < 2 ? insn->n_accesses : 2;
    if (cg.caches && n_accesses) {
        for (u32 j = 0; j < n_accesses; j++) {
            at[j] = cg_address(t, &a[j], words);
            count(t, extra, a[j].kind == IP_ACC_W ? CG_DW : CG_DR, n);
        }
        /* The register that moved tells the direction. */
        step = turns[2] >= at[n_accesses - 1] ? a[0].size : -(u64)a[0].size;
    }
    for (u64 k = 0; k < n && cg.caches; k++)
        for (u32 j = 0; j < n_accesses; j++) data(t, c, i, at[j] + k * step, a[j].size - 1, a[j].kind == IP_ACC_W);
    if (cg.branches) {
        /* Before each turn a look at RCX, but for a first one whose result is known; behind each turn of those that
         * compare, one at the flag.  The last look of all finds the end. */
        bool compares = cg_compares(insn), by_flag = compares && cg_ended_by_flag(insn, turns);
        u64 looks = (compares ? 2 * n : n) + !by_flag - insn->known_times;
        if (!looks) return;
        /* Looks beyond those that the history remembers are predicted. */
        u64 simulated = looks - 1 < 32 ? looks - 1 : 32, history = t->sim->history, miss = 0;
        u32 place = (u32)(insn->pc << CG_HISTORY) & (CG_CONDITIONAL - 1);
        for (u64 k = simulated; k > 0; k--)
            miss += cg_predict(t->sim->conditional, &history, place, !compares || (k & 1) != by_flag);
        miss += cg_predict(t->sim->conditional, &history, place, compares && !by_flag);
        t->sim->history = history;
        count(t, extra, CG_BC, looks);
        count(t, extra, CG_BCM, miss);
    }
}

/* Of those accesses that not each run makes. */
static void some(struct thread *t, struct cg_counter *c, u64 i, const u64 *words) {
    const struct ip_tr_insn *insn = &tr_insns(c->block)[i];
    const struct ip_tr_access *a = tr_accesses(c->block) + insn->first_access;
    for (u32 j = 0; j < insn->n_accesses; j++) {
        if (!(a[j].flags & IP_TRA_MAYBE) || words[a[j].base] == IP_TR_NOWHERE) continue;
        count(t, extra_of(t, c, i), a[j].kind == IP_ACC_W ? CG_DW : CG_DR, 1);
        data(t, c, i, words[a[j].base], a[j].size - 1, a[j].kind == IP_ACC_W);
    }
}

static void count_locks(struct thread *t, const struct cg_plan *p, u64 done) {
    const struct cg_cost *cost = p->costs->cost;
    for (u32 k = 0; k < p->costs->n_fixed; k++)
        if (cost[k].insn < done && cost[k].place == cg_place(CG_GE)) t->shared.total[cost[k].place]++;
}

void cg_simulate(struct thread *t, const struct cg_place *at, const u64 *words, u64 done) {
    struct cg_counter *c = at->counter;
    const struct cg_plan *p = cg_plan_at(at);
    const struct ip_tr_block *b = c->block;
    const struct ip_tr_insn *insn = tr_insns(b);
    const struct ip_tr_access *a = tr_accesses(b);
    const struct cg_exit *e = &p->exits[done];
    const struct cg_cost *branches = p->costs->cost + p->costs->n_fixed;
    u32 access = 0, branch = 0;
    for (u64 i = 0; i < done; i++) {
        if (cg.caches) fetch(t, c, i);
        for (; access < e->n_accesses && a[p->templates[access]].insn == i; access++) {
            const struct ip_tr_access *one = &a[p->templates[access]];
            data(t, c, i, cg_address(t, one, words), at->accesses[access].more, one->kind == IP_ACC_W);
        }
        if (e->special && cg.caches) some(t, c, i, words);
        if (e->special && insn[i].rep && insn[i].rep_words != 0xffff) repeated(t, c, i, words);
        for (; branch < e->n_passed && branches[branch].insn == i; branch++) conditional(t, at, c, branch, false);
    }
    if (e->taken) conditional(t, at, c, branch, true);
    if (p->locks && t->collects) count_locks(t, p, done);
}
