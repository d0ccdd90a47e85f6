/* Contexts: definitions run under a call stack.  A thread remembers those that it has met, as many as there is room
 * for; one that was forgotten is defined again. */
#include <asm/unistd.h>
#include <linux/mman.h>

#include "tools/datagrind/client/frames.h"

#define LEAST_SETS  4096u
#define MOST_SETS   0x40000u /* 16 MiB */
#define NO_CONTEXT  0xffffffffu
#define MOST_RECENT 1024u
#define DEARER      0x4000u /* bytes */

static u64 bytes_of(u32 n_sets) { return n_sets * (u64)DG_WAYS * sizeof(struct dg_seen); }

/* What runs under one stack was often defined at one time: then it is in one line of the cache. */
static struct dg_seen *set_of(const struct dg_thread *t, u64 stack, u32 bbdef) {
    return t->seen + ((dg_mix(stack) + bbdef / DG_WAYS) & (t->n_sets - 1)) * DG_WAYS;
}

void dg_forget_contexts(struct dg_thread *t) {
    if (t->seen) rt_free_pages(t->seen, bytes_of(t->n_sets));
    t->n_sets = LEAST_SETS;
    t->evicted = 0;
    t->seen = rt_pages(bytes_of(t->n_sets));
}

static void remember(struct dg_thread *t, struct dg_seen one) {
    struct dg_seen *set = set_of(t, one.stack, one.bbdef);
    t->evicted += set[DG_WAYS - 1].stack != 0;
    for (u32 way = DG_WAYS - 1; way > 0; way--) set[way] = set[way - 1];
    set[0] = one;
}

static void grow(struct dg_thread *t) {
    struct dg_seen *old = t->seen;
    u32 n = t->n_sets;
    t->n_sets = n * 4;
    t->seen = rt_pages(bytes_of(t->n_sets));
    sys3(__NR_madvise, (long)t->seen, (long)bytes_of(t->n_sets), MADV_HUGEPAGE);
    for (u32 set = 0; set < n; set++)
        for (u32 way = DG_WAYS; way-- > 0;)
            if (old[set * DG_WAYS + way].stack) remember(t, old[set * DG_WAYS + way]);
    rt_free_pages(old, bytes_of(n));
    t->evicted = 0;
}

static u64 define(struct dg_thread *t, u32 bbdef, u64 pc) {
    u64 depth = t->n_frames < DG_CALLERS ? t->n_frames : DG_CALLERS, word = bbdef, ips[DG_CALLERS];
    dg_callers(t, ips, DG_CALLERS);
    dg_lock();
    u8 *to = dg_definition(DG_CONTEXT, 8 + 1 + (1 + depth) * 8);
    __builtin_memcpy(to, &word, 8);
    to[8] = (u8)(1 + depth);
    __builtin_memcpy(to + 9, &pc, 8);
    memcpy(to + 17, ips, depth * 8);
    u64 number = dg.n_contexts++;
    dg_unlock();
    return number;
}

/* Of a definition that is run under many stacks in turns.  The more room such ones have, the more must be won: it
 * should stay in the cache. */
static void widen(struct dg_thread *t, struct dg_def *d) {
    u32 n = 4 * (d->mask + 1);
    if (d->missed <= (u64)n * (1 + t->recent_bytes / DEARER)) return;
    d->missed = 0;
    struct dg_seen *more = n <= MOST_RECENT ? dg_room(t, n * sizeof *more, 64) : NULL;
    if (!more) return;
    t->recent_bytes += n * sizeof *more;
    memset(more, 0, n * sizeof *more);
    for (u32 i = 0; i <= d->mask; i++) more[d->recent[i].stack & (n - 1)] = d->recent[i];
    d->recent = more;
    d->mask = n - 1;
}

static bool knows(struct dg_thread *t, u64 stack, u32 bbdef, struct dg_seen *found) {
    struct dg_seen *set = set_of(t, stack, bbdef);
    u32 way = 0;
    /* Entries that are empty have no stack: its number is never 0 but by chance, and then it is defined again. */
    while (way < DG_WAYS && !(set[way].stack == stack && set[way].bbdef == bbdef && stack)) way++;
    if (way == DG_WAYS) return false;
    *found = set[way];
    for (; way > 0; way--) set[way] = set[way - 1];
    set[0] = *found;
    return true;
}

static u64 place(struct dg_def *d, struct dg_seen one) {
    d->recent[one.stack & d->mask] = one;
    return one.context;
}

u64 dg_known_context(struct dg_thread *t, struct dg_def *d) {
    struct dg_seen found;
    if (!knows(t, t->stack, d->bbdef, &found)) return DG_UNKNOWN;
    d->missed++;
    widen(t, d);
    return place(d, found);
}

u64 dg_new_context(struct dg_thread *t, struct dg_def *d, u64 pc) {
    u64 number = define(t, d->bbdef, pc);
    if (number >= NO_CONTEXT) return number;
    struct dg_seen made = {t->stack, d->bbdef, (u32)number};
    remember(t, made);
    if (t->evicted > t->n_sets && t->n_sets < MOST_SETS) grow(t);
    return place(d, made);
}
