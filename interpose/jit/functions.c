/* Which function an address belongs to: ranges in order, and parts of code without a name. */
#include "jit/trace.h"
#include "jit/ways.h"

static bool is_first_behind(const struct tracing *t, uint64_t i, uint64_t pc) {
    return i < t->n_ranges && pc < t->ranges[i].hi && (i == 0 || t->ranges[i - 1].hi <= pc);
}

static uint64_t search_range(const struct tracing *t, uint64_t pc) {
    uint64_t lo = 0, hi = t->n_ranges;
    while (lo < hi) {
        uint64_t mid = (lo + hi) / 2;
        if (t->ranges[mid].hi <= pc)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* What is asked next mostly lies where the last pc did. */
uint64_t ip_trace_range_after(uint64_t pc) {
    struct tracing *t = tt_tracing();
    uint64_t i = __atomic_load_n(&t->last_range, __ATOMIC_RELAXED); /* who only shows stages does not hold the lock */
    if (is_first_behind(t, i, pc)) return i;
    i = search_range(t, pc);
    __atomic_store_n(&t->last_range, i, __ATOMIC_RELAXED);
    return i;
}

static const struct ip_tr_range *at(const struct tracing *t, uint64_t i, uint64_t pc) {
    return i < t->n_ranges && t->ranges[i].lo <= pc ? &t->ranges[i] : NULL;
}

/* The one that pc lies in, or NULL. */
static const struct ip_tr_range *range_of(uint64_t pc) {
    uint64_t i = ip_trace_range_after(pc);
    return at(tt_tracing(), i, pc);
}

uint32_t ip_trace_function(uint64_t pc) {
    const struct ip_tr_range *r = range_of(pc);
    return r ? r->function : 0;
}

bool ip_trace_apart(uint64_t pc, uint64_t home) {
    static const struct ip_tr_range none;
    const struct tracing *t = tt_tracing();
    uint64_t j = ip_trace_range_after(home), i = is_first_behind(t, j, pc) ? j : search_range(t, pc);
    const struct ip_tr_range *a = at(t, i, pc), *b = at(t, j, home);
    if (!a) a = &none;
    if (!b) b = &none;
    return a->function != b->function || a->part != b->part;
}

bool ip_trace_begins(uint64_t pc) {
    const struct ip_tr_range *r = range_of(pc);
    return r && r->lo == pc;
}

uint32_t ip_trace_part(uint64_t pc, uint64_t *begin) {
    const struct ip_tr_range *r = range_of(pc);
    if (!r || !r->part) return 0;
    *begin = r->lo;
    return r->part;
}
