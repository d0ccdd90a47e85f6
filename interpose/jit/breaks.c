/* A debugger's breakpoints: a block begins at each, and is nothing but an exit (IP_X_BREAK). */
#include <string.h>

#include "jit/transtab.h"

/* The first that is not below pc. */
static uint32_t place(const struct transtab *t, uint64_t pc) {
    uint32_t lo = 0, hi = t->n_breaks;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (t->breaks[mid] < pc)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool tt_is_break(const struct transtab *t, uint64_t pc) {
    if (!t->n_breaks) return false;
    uint32_t i = place(t, pc);
    return i < t->n_breaks && t->breaks[i] == pc;
}

void tt_set_break(struct transtab *t, uint64_t pc, bool set) {
    if (tt_is_break(t, pc) == set) return;
    uint32_t i = place(t, pc);
    if (!set) {
        memmove(t->breaks + i, t->breaks + i + 1, (t->n_breaks - i - 1) * sizeof *t->breaks);
        t->n_breaks--;
    } else {
        if (t->n_breaks == t->breaks_cap) {
            uint32_t cap = t->breaks_cap ? 2 * t->breaks_cap : 64;
            uint64_t *more = tt_alloc(t, cap, sizeof *more);
            if (t->n_breaks) memcpy(more, t->breaks, t->n_breaks * sizeof *more);
            tt_free(t, t->breaks, t->breaks_cap * sizeof *t->breaks);
            t->breaks = more;
            t->breaks_cap = cap;
        }
        memmove(t->breaks + i + 1, t->breaks + i, (t->n_breaks - i) * sizeof *t->breaks);
        t->breaks[i] = pc;
        t->n_breaks++;
    }
    tt_drop_containing(t, pc);
}
