/* --cacheuse=yes: how much use is made of lines from when they are loaded until they are lost, at the instructions that
 * load them: the reciprocals of the numbers of accesses (in thousandths), and the bytes that nobody accesses.  A line
 * of the first level remembers where it lay in the last level when it was loaded.  What it was used for is added up
 * there when it goes, whatever lies there by then, as Valgrind does it. */
#include "tools/callgrind/client/simulate.h"

struct usage {       /* of a way */
    u32 count, mask; /* accesses; parts of the line that they touched */
    u64 *cost;       /* of the instruction that loaded it; 0: none has */
    u64 below;       /* the way of the last level */
};

#define PARTS 32 /* of a line */

struct cg_usage {
    struct usage *i1, *d1;
};

static struct cg_cache *last;
static struct usage *last_usage;

struct cg_cache *cg_last_used(void) { return last; }

static struct usage *usages(const struct cg_cache *c) { return rt_pages(c->sets * c->ways * sizeof(struct usage)); }

static struct cg_usage *usage_of(struct thread *t) {
    if (t->sim->usage) return t->sim->usage;
    struct cg_usage *u = rt_pages(sizeof *u);
    u->i1 = usages(t->sim->i1);
    u->d1 = usages(t->sim->d1);
    if (!last) {
        last = cg_make_cache(&cg.ll);
        last_usage = usages(last);
    }
    return t->sim->usage = u;
}

/* The line goes.  Lines of which nothing is known cost nothing. */
static void retire(struct usage *u, u32 shift, enum cg_event accesses) {
    if (!u->count || !u->cost) return;
    u32 part = shift > 5 ? 1u << (shift - 5) : 1;
    u->cost[cg_place(accesses)] += 1000 / u->count;
    u->cost[cg_place(accesses) + 1] += (1u << shift) - part * (u32)__builtin_popcountll(u->mask);
    u->count = u->mask = 0;
}

static void retire_first(struct usage *u, u32 shift) {
    struct usage *below = &last_usage[u->below];
    if (!u->count) return;
    below->count += u->count;
    below->mask |= u->mask;
    retire(u, shift, CG_ACCOST1);
}

/* A line's part of an access: 0 it was in the first level, 1 in the last, 2 in none. */
static u32 touch(struct thread *t, struct cg_cache *c, struct usage *usage, u64 line, u32 mask,
                 struct cg_counter *counter, u64 insn) {
    bool hit, there;
    struct usage *u = &usage[cg_touch(c, line, &hit) - c->way];
    if (hit) {
        u->count++;
        u->mask |= mask;
        return 0;
    }
    u64 below = (u64)(cg_touch(last, (line << c->shift) >> last->shift, &there) - last->way);
    u64 *cost = t->collects ? cg_extra(t, counter, insn) : 0;
    if (u->cost) retire_first(u, c->shift);
    if (!there) {
        struct usage *l = &last_usage[below];
        retire(l, last->shift, CG_ACCOST2);
        l->count = l->mask = 0;
        l->cost = cost;
    }
    *u = (struct usage){1, mask, cost, below};
    return there ? 1 : 2;
}

/* Parts from the byte `from` of a line to the byte `to`. */
static u32 parts(u64 from, u64 to, u32 shift) {
    u32 part = shift > 5 ? shift - 5 : 0;
    u32 lo = (u32)(from >> part), hi = (u32)(to >> part);
    return (u32)((2ull << hi) - (1ull << lo));
}

u32 cg_use(struct thread *t, struct cg_cache *c, struct cg_counter *counter, u64 insn, u64 addr, u64 more) {
    struct cg_usage *u = usage_of(t);
    struct usage *usage = c == t->sim->i1 ? u->i1 : u->d1;
    u64 first = addr >> c->shift, end = (addr + more) >> c->shift, size = 1ull << c->shift;
    u64 from = addr & (size - 1), to = (addr + more) & (size - 1);
    if (first == end) return touch(t, c, usage, first, parts(from, to, c->shift), counter, insn);
    u32 a = touch(t, c, usage, first, parts(from, size - 1, c->shift), counter, insn);
    u32 b = touch(t, c, usage, end, parts(0, to, c->shift), counter, insn);
    return a > b ? a : b;
}

/* At the end, all lines go. */
void cg_use_ends(void) {
    if (!last) return;
    for (const struct cg_thread *each = cg_root.threads; each; each = each->next) {
        struct cg_sim *s = ((struct thread *)each)->sim;
        if (!s || !s->usage) continue;
        for (u64 i = 0; i < s->i1->sets * s->i1->ways; i++) retire_first(&s->usage->i1[i], s->i1->shift);
        for (u64 i = 0; i < s->d1->sets * s->d1->ways; i++) retire_first(&s->usage->d1[i], s->d1->shift);
    }
    for (u64 i = 0; i < last->sets * last->ways; i++) retire(&last_usage[i], last->shift, CG_ACCOST2);
}
