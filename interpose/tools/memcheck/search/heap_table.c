/* See heap_table.h. */
#include "tools/memcheck/search/heap_table.h"

#include "abi/space.h"

#include <string.h>
#include <unistd.h>

#define SOME 1024 /* records that are read at a time */
#define LEAF ((1u << IP_HEAP_LEAF_BITS) - 1)

/* What is looked for, and where what was found goes. */
struct search {
    int mem;
    uint64_t addr, distance;
    struct ip_near_block *out;
    size_t max, found;
};

static int read_from(int mem, void *to, size_t n, uint64_t at) { return pread(mem, to, n, (off_t)at) == (ssize_t)n; }

static uint64_t word_at(int mem, uint64_t at) {
    uint64_t word = 0;
    return read_from(mem, &word, sizeof word, at) ? word : 0;
}

static int is_block(const struct ip_heap_block *b) { return b->state == IP_HB_LIVE || b->state == IP_HB_QUARANTINE; }

static int is_chunk(const struct ip_heap_block *b) { return b->kind == IP_AK_POOL || b->kind == IP_AK_METAPOOL; }

static uint64_t redzone_of(const struct ip_heap_block *b) {
    struct ip_heap_pooled behind;
    memcpy(&behind, b + 1, sizeof behind);
    return behind.redzone;
}

/* b, and of a chunk of a memory pool the record behind it. */
static void consider(struct search *s, const struct ip_heap_block *b) {
    if (!is_block(b)) return;
    uint64_t redzone = is_chunk(b) ? redzone_of(b) : 0;
    uint64_t reach = redzone > s->distance ? redzone : s->distance;
    uint64_t lo = s->addr > reach ? s->addr - reach : 0, hi = s->addr + reach < reach ? ~0ull : s->addr + reach;
    if (b->addr > hi || b->addr + b->size < lo) return;
    if (s->found < s->max) s->out[s->found] = (struct ip_near_block){*b, redzone};
    s->found++;
}

/* Those of n records in one chunk of the table. */
static void consider_all(struct search *s, uint64_t at, uint64_t n) {
    struct ip_heap_block some[SOME + 1];
    for (uint64_t count; n; n -= count, at += count * sizeof *some) {
        count = n < SOME ? n : SOME;
        size_t more = n > count; /* a chunk's second record may be the next one */
        some[count] = (struct ip_heap_block){0};
        if (!read_from(s->mem, some, (count + more) * sizeof *some, at)) return;
        for (uint64_t i = 0; i < count; i++) consider(s, &some[i]);
    }
}

static void consider_table(struct search *s, uint64_t table) {
    uint64_t left = word_at(s->mem, table + offsetof(struct ip_heap_table, n_blocks));
    for (uint64_t chunk = 0; left && chunk < IP_HEAP_CHUNKS; chunk++) {
        uint64_t count = left < IP_HEAP_CHUNK ? left : IP_HEAP_CHUNK;
        uint64_t at = word_at(s->mem, table + offsetof(struct ip_heap_table, chunks) + 8 * chunk);
        if (at) consider_all(s, at, count);
        left -= count;
    }
}

/* The cells of a span that [lo, hi] touches. */
static void consider_span(struct search *s, const struct ip_heap_span *span, uint64_t lo, uint64_t hi) {
    uint64_t first = 0, last = 0;
    if (span->stride) {
        if (!span->used || hi < span->lo) return;
        first = lo > span->lo ? (lo - span->lo) / span->stride : 0;
        last = (hi - span->lo) / span->stride;
        if (last >= span->used) last = span->used - 1u;
    }
    if (first <= last)
        consider_all(s, (uint64_t)span->records + first * sizeof(struct ip_heap_block), last - first + 1);
}

/* The spans of units from `unit` on, 0 where there is none: below end, as far as one leaf has them, which is one call
 * of the system, and at most `most`; returns how many. */
static uint64_t spans_of_units(int mem, uint64_t map, uint64_t unit, uint64_t end, uint64_t *spans, uint64_t most) {
    uint64_t count = end - unit < most ? end - unit : most, leaf = word_at(mem, map + 8 * (unit >> IP_HEAP_LEAF_BITS));
    if (count > LEAF + 1 - (unit & LEAF)) count = LEAF + 1 - (unit & LEAF);
    if (!leaf || !read_from(mem, spans, count * sizeof *spans, leaf + 8 * (unit & LEAF)))
        memset(spans, 0, count * sizeof *spans);
    return count;
}

/* Of as many units as one look-up is about, mostly one, or two at the end of a span. */
#define UNITS 8

static void consider_spans(struct search *s, uint64_t map) {
    uint64_t lo = s->addr > s->distance ? s->addr - s->distance : 0, hi = s->addr + s->distance, held = 0;
    if (hi >= IP_CLIENT_END) hi = IP_CLIENT_END - 1;
    uint64_t spans[UNITS], count, end = hi / IP_HEAP_UNIT + 1;
    for (uint64_t unit = lo / IP_HEAP_UNIT; unit < end; unit += count) {
        count = spans_of_units(s->mem, map, unit, end, spans, UNITS);
        for (uint64_t i = 0; i < count; i++) {
            struct ip_heap_span span;
            if (!spans[i] || spans[i] == held || !read_from(s->mem, &span, sizeof span, spans[i])) continue;
            held = spans[i];
            consider_span(s, &span, lo, hi);
        }
    }
}

size_t ip_heap_near(int mem, uint64_t table, uint64_t addr, uint64_t distance, struct ip_near_block *out, size_t max) {
    struct search s = {mem, addr, distance, out, max, 0};
    struct {
        uint64_t unit_map, has_others;
    } head;
    _Static_assert(offsetof(struct ip_heap_table, has_others) == offsetof(struct ip_heap_table, unit_map) + 8,
                   "read together");
    if (!read_from(mem, &head, sizeof head, table + offsetof(struct ip_heap_table, unit_map))) return 0;
    if (head.has_others)
        consider_table(&s, table);
    else
        consider_spans(&s, head.unit_map);
    return s.found;
}

size_t ip_heap_numbered(int mem, uint64_t table, uint64_t number, struct ip_near_block *out) {
    struct ip_heap_block records[2] = {{0}};
    uint64_t in_chunk = number % IP_HEAP_CHUNK;
    if (!number || number >= word_at(mem, table + offsetof(struct ip_heap_table, n_blocks))) return 0;
    uint64_t chunk = word_at(mem, table + offsetof(struct ip_heap_table, chunks) + 8 * (number / IP_HEAP_CHUNK));
    size_t count = in_chunk + 1 < IP_HEAP_CHUNK ? 2 : 1;
    if (!read_from(mem, records, count * sizeof *records, chunk + in_chunk * sizeof *records) || !is_block(records))
        return 0;
    *out = (struct ip_near_block){*records, is_chunk(records) ? redzone_of(records) : 0};
    return 1;
}

/* The arena that holds addr. */
static int arena_of(int mem, uint64_t table, uint64_t addr, uint64_t out[2]) {
    uint64_t n = word_at(mem, table + offsetof(struct ip_heap_table, n_arenas));
    for (uint64_t i = 0; i < n; i++) {
        out[0] = word_at(mem, table + offsetof(struct ip_heap_table, arena_lo) + 8 * i);
        out[1] = word_at(mem, table + offsetof(struct ip_heap_table, arena_hi) + 8 * i);
        if (out[0] <= addr && addr < out[1]) return 1;
    }
    return 0;
}

/* Narrows out, which holds addr and is nobody's but where blocks of the span are. */
static size_t between_blocks(int mem, const struct ip_heap_span *span, uint64_t addr, uint64_t redzone, uint64_t *out) {
    struct ip_heap_block some[SOME];
    uint64_t left = span->stride ? span->used : 1, at = (uint64_t)span->records;
    out[0] = span->lo;
    out[1] = span->lo + span->units * IP_HEAP_UNIT;
    for (uint64_t count; left; left -= count, at += count * sizeof *some) {
        count = left < SOME ? left : SOME;
        if (!read_from(mem, some, count * sizeof *some, at)) return 0;
        for (uint64_t i = 0; i < count; i++) {
            if (!is_block(&some[i])) continue;
            uint64_t lo = some[i].addr - redzone, hi = some[i].addr + some[i].size + redzone;
            if (hi <= addr) {
                if (hi > out[0]) out[0] = hi;
            } else if (lo > addr) {
                if (lo < out[1]) out[1] = lo;
            } else {
                return 0;
            }
        }
    }
    return 1;
}

size_t ip_heap_unallocated(int mem, uint64_t table, uint64_t addr, uint64_t redzone, uint64_t *out) {
    uint64_t arena[2], map = word_at(mem, table + offsetof(struct ip_heap_table, unit_map));
    if (addr >= IP_CLIENT_END || !arena_of(mem, table, addr, arena)) return 0;
    struct ip_heap_span span;
    uint64_t spans[SOME], unit = addr / IP_HEAP_UNIT, end = (arena[1] + IP_HEAP_UNIT - 1) / IP_HEAP_UNIT;
    uint64_t count = spans_of_units(mem, map, unit, unit + 1, spans, 1);
    if (*spans) return read_from(mem, &span, sizeof span, *spans) ? between_blocks(mem, &span, addr, redzone, out) : 0;
    /* An arena need not begin with a unit, nor end with one. */
    out[0] = arena[0];
    out[1] = arena[1];
    for (uint64_t at = arena[0] / IP_HEAP_UNIT; at < end; at += count) {
        count = spans_of_units(mem, map, at, end, spans, SOME);
        for (uint64_t i = 0; i < count; i++) {
            if (!spans[i]) continue;
            if (at + i > unit) {
                out[1] = (at + i) * IP_HEAP_UNIT;
                return 1;
            }
            out[0] = (at + i + 1) * IP_HEAP_UNIT;
        }
    }
    return 1;
}

size_t ip_described_at(int mem, uint64_t root, uint64_t addr, struct mc_described *out) {
    struct mc_described some[SOME];
    struct mc_described_table table;
    if (!read_from(mem, &table, sizeof table, root + offsetof(struct mc_root, described))) return 0;
    for (uint64_t count; table.count; table.count -= count, table.at += count * sizeof *some) {
        count = table.count < SOME ? table.count : SOME;
        if (!read_from(mem, some, count * sizeof *some, table.at)) return 0;
        for (uint64_t i = 0; i < count; i++) {
            const struct mc_described *b = &some[i];
            if (b->addr > addr || addr >= b->addr + b->size) continue;
            *out = *b;
            return 1;
        }
    }
    return 0;
}
