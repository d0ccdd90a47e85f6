/* Which function an address belongs to: ranges in order, and parts of code without a name. */
#include <stdlib.h>
#include <string.h>

#include "abi/count.h"
#include "jit/native_api.h"
#include "jit/trace.h"

static struct range {
    uint64_t lo, hi;
    uint32_t function;
    uint32_t part; /* 0: none */
} *ranges;
static size_t n_ranges, room_ranges;

static bool is_first_behind(size_t i, uint64_t pc) {
    return i < n_ranges && pc < ranges[i].hi && (i == 0 || ranges[i - 1].hi <= pc);
}

/* The first range that ends behind pc. */
static size_t search_range(uint64_t pc) {
    size_t lo = 0, hi = n_ranges;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (ranges[mid].hi <= pc)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The same; what is asked next mostly lies where the last pc did. */
static size_t range_after(uint64_t pc) {
    static size_t last;
    size_t i = __atomic_load_n(&last, __ATOMIC_RELAXED); /* who only shows stages does not hold the lock */
    if (is_first_behind(i, pc)) return i;
    i = search_range(pc);
    __atomic_store_n(&last, i, __ATOMIC_RELAXED);
    return i;
}

uint32_t ip_trace_function(uint64_t pc) {
    size_t i = range_after(pc);
    return i < n_ranges && ranges[i].lo <= pc ? ranges[i].function : 0;
}

bool ip_trace_apart(uint64_t pc, uint64_t home) {
    size_t j = range_after(home), i = is_first_behind(j, pc) ? j : search_range(pc);
    const struct range none = {0}, *a = i < n_ranges && ranges[i].lo <= pc ? ranges + i : &none;
    const struct range *b = j < n_ranges && ranges[j].lo <= home ? ranges + j : &none;
    return a->function != b->function || a->part != b->part;
}

bool ip_trace_begins(uint64_t pc) {
    size_t i = range_after(pc);
    return i < n_ranges && ranges[i].lo == pc;
}

uint32_t ip_trace_part(uint64_t pc, uint64_t *begin) {
    size_t i = range_after(pc);
    if (i >= n_ranges || pc < ranges[i].lo || !ranges[i].part) return 0;
    *begin = ranges[i].lo;
    return ranges[i].part;
}

void ip_trace_functions_del(uint64_t lo, uint64_t hi) {
    ip_service_lock();
    size_t from = range_after(lo), to = from;
    while (to < n_ranges && ranges[to].lo < hi) to++;
    memmove(ranges + from, ranges + to, (n_ranges - to) * sizeof *ranges);
    n_ranges -= to - from;
    ip_service_unlock();
}

int ip_trace_functions_add(uint64_t n, const uint64_t *lo, const uint64_t *hi, const uint32_t *function) {
    if (n == 0) return 0;
    ip_trace_functions_del(lo[0], hi[n - 1]);
    ip_service_lock();
    if (n_ranges + n > room_ranges) {
        size_t room = (n_ranges + n) * 2;
        struct range *more = realloc(ranges, room * sizeof *more);
        if (!more) {
            ip_service_unlock();
            return -1;
        }
        ranges = more;
        room_ranges = room;
    }
    size_t at = range_after(lo[0]);
    memmove(ranges + at + n, ranges + at, (n_ranges - at) * sizeof *ranges);
    for (uint64_t i = 0; i < n; i++) ranges[at + i] = (struct range){lo[i], hi[i], function[i], 0};
    n_ranges += n;
    ip_service_unlock();
    return 0;
}

int ip_trace_parts_add(uint64_t lo, uint64_t hi, uint64_t n, const int32_t *table, uint64_t base) {
    static uint32_t part;
    ip_service_lock();
    size_t first = range_after(lo), end = first, used = 0;
    while (end < n_ranges && ranges[end].lo < hi) end++;
    size_t most = n_ranges + n, tail = n_ranges - end;
    struct range *made = malloc((end - first + n + 1) * sizeof *made);
    struct range *more = most > room_ranges ? realloc(ranges, 2 * most * sizeof *more) : ranges;
    if (more && more != ranges) room_ranges = 2 * most;
    if (more) ranges = more;
    uint64_t k = 0;
    for (size_t i = first; made && more && i < end; i++) {
        struct range r = ranges[i];
        made[used++] = r;
        for (; k < n && base + (uint64_t)table[2 * k] < r.hi; k++) {
            struct range *last = made + used - 1;
            uint64_t start = base + (uint64_t)table[2 * k];
            if (!(r.function & IP_CT_UNNAMED) || start < last->lo || part + 1 == IP_CT_PARTS) continue;
            if (start > last->lo) {
                last->hi = start;
                made[used++] = (struct range){start, r.hi, r.function, 0};
                last++;
            }
            last->part = ++part;
        }
    }
    if (made && more) {
        memmove(ranges + first + used, ranges + end, tail * sizeof *ranges);
        memcpy(ranges + first, made, used * sizeof *made);
        n_ranges = first + used + tail;
    }
    free(made);
    ip_service_unlock();
    return made && more ? 0 : -1;
}
