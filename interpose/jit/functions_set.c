/* The supervisor's part of what tools that trace know: it says which functions there are. */
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

#include "abi/count.h"
#include "abi/meta.h"
#include "jit/memory.h"
#include "jit/native_api.h"
#include "jit/tables.h"
#include "jit/ways.h"

static struct tracing alone; /* without a program: stages of any bytes are shown */
static struct tracing *now = &alone;
static struct tt_memory *own; /* in which that is, or NULL */

/* A function of its own, for a test looks by name for who asks the CPU before using instructions that some lack. */
__attribute__((noinline)) static uint64_t components(void) {
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return (uint64_t)d << 32 | a;
}

#define STATE_LEAF 13

static void ask_cpu(struct tracing *t) {
    t->components = components();
    for (uint64_t left = t->components >> 2 << 2; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        uint32_t b, c, d;
        __cpuid_count(STATE_LEAF, i, t->component_size[i], b, c, d);
    }
}

struct tracing *tt_tracing(void) {
    if (now == &alone && !alone.components) ask_cpu(&alone);
    return now;
}

void tt_trace_in(struct tt_memory *memory) {
    struct tracing *t = &memory->tracing;
    t->meta = memory->table.meta;
    t->area = memory->table.cache + (IP_TRACE_BASE - IP_CACHE_BASE);
    t->known = memory->known;
    if (!t->ranges) {
        t->ranges = memory->ranges;
        t->room_ranges = IP_TR_MAX_RANGES;
    }
    ask_cpu(t);
    own = memory;
    now = t;
}

void *tt_trace_scratch(void) {
    /* Not in the thread's own block: where memory is short, the dynamic linker ends the process over that. */
    static _Thread_local void *scratch;
    if (!scratch) scratch = ip_alloc(1, TRACE_SCRATCH);
    return scratch;
}

uint8_t *ip_trace_templates(uint64_t *bytes, uint64_t *words) {
    ip_service_lock();
    *bytes = now->meta ? now->meta->trace_used : 0;
    *words = now->meta ? now->meta->trace_words : 0;
    ip_service_unlock();
    return now->area;
}

/* More than there is room for in what is shared: here, where nobody else sees it, so only the supervisor makes
 * templates from now on. */
static bool room_for(uint64_t n) {
    static struct ip_tr_range *larger;
    if (n <= now->room_ranges) return true;
    const bool is_shared = own && now->ranges == own->ranges; /* what an image before this one had is no more */
    struct ip_tr_range *more = realloc(larger, 2 * n * sizeof *more);
    if (!more) return false;
    if (is_shared) memcpy(more, now->ranges, now->n_ranges * sizeof *more);
    larger = now->ranges = more;
    now->room_ranges = 2 * n;
    if (own) own->table.here = own->table.in_place = false;
    return true;
}

static void place(uint64_t from, uint64_t to, const struct ip_tr_range *with, uint64_t n) {
    struct ip_tr_range *r = now->ranges;
    if (now->n_ranges > to) memmove(r + from + n, r + to, (now->n_ranges - to) * sizeof *r);
    if (n) memcpy(r + from, with, n * sizeof *r);
    now->n_ranges += n - (to - from);
}

static void forget(uint64_t lo, uint64_t hi) {
    uint64_t from = ip_trace_range_after(lo), to = from;
    while (to < now->n_ranges && now->ranges[to].lo < hi) to++;
    place(from, to, NULL, 0);
}

void ip_trace_functions_del(uint64_t lo, uint64_t hi) {
    ip_service_lock();
    forget(lo, hi);
    ip_service_unlock();
}

int ip_trace_functions_add(uint64_t n, const uint64_t *lo, const uint64_t *hi, const uint32_t *function) {
    if (n == 0) return 0;
    struct ip_tr_range *made = malloc(n * sizeof *made);
    if (!made) return -1;
    for (uint64_t i = 0; i < n; i++) made[i] = (struct ip_tr_range){lo[i], hi[i], function[i], 0};
    ip_service_lock();
    forget(lo[0], hi[n - 1]);
    bool has_room = room_for(now->n_ranges + n);
    uint64_t at = ip_trace_range_after(lo[0]);
    if (has_room) place(at, at, made, n);
    ip_service_unlock();
    free(made);
    return has_room ? 0 : -1;
}

int ip_trace_parts_add(uint64_t lo, uint64_t hi, uint64_t n, const int32_t *table, uint64_t base) {
    ip_service_lock();
    uint64_t first = ip_trace_range_after(lo), end = first, used = 0, k = 0;
    while (end < now->n_ranges && now->ranges[end].lo < hi) end++;
    struct ip_tr_range *made = malloc((end - first + n + 1) * sizeof *made);
    bool has_room = made && room_for(now->n_ranges + n);
    for (uint64_t i = first; has_room && i < end; i++) {
        struct ip_tr_range r = now->ranges[i];
        made[used++] = r;
        for (; k < n && base + (uint64_t)table[2 * k] < r.hi; k++) {
            struct ip_tr_range *last = made + used - 1;
            uint64_t start = base + (uint64_t)table[2 * k];
            if (!(r.function & IP_CT_UNNAMED) || start < last->lo || now->parts + 1 == IP_CT_PARTS) continue;
            if (start > last->lo) {
                last->hi = start;
                made[used++] = (struct ip_tr_range){start, r.hi, r.function, 0};
                last++;
            }
            last->part = ++now->parts;
        }
    }
    if (has_room) place(first, end, made, used);
    free(made);
    ip_service_unlock();
    return has_room ? 0 : -1;
}
