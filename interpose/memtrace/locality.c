/* Caches and reuse distances (locality.h). */
#include <stdlib.h>
#include <string.h>

#include "memtrace/locality.h"

/* ---- caches ---- */

int ip_cache_open(struct ip_cache *c, uint64_t sets, uint64_t ways, int is_part) {
    memset(c, 0, sizeof *c);
    c->sets = sets;
    c->ways = ways;
    c->is_part = is_part != 0;
    c->lines = calloc(sets * ways, sizeof *c->lines);
    c->used = calloc(sets, sizeof *c->used);
    if (c->lines != NULL && c->used != NULL) return 0;
    ip_cache_close(c);
    return -1;
}

void ip_cache_close(struct ip_cache *c) {
    free(c->lines);
    free(c->used);
    c->lines = NULL;
    c->used = NULL;
}

static inline uint8_t outcome_of(struct ip_cache *c, uint64_t line) {
    uint64_t ways = c->ways, *set = c->lines + (line & (c->sets - 1)) * ways;
    uint32_t *used = &c->used[line & (c->sets - 1)];
    uint32_t way = 0;
    uint8_t outcome = IP_CACHE_HIT;
    while (way < *used && set[way] != line) way++;
    if (way < *used) {
        c->hits++;
        if (way == 0) return outcome;
    } else {
        int is_open = c->is_part && *used < ways;
        outcome = is_open ? IP_CACHE_OPEN : IP_CACHE_MISS;
        if (is_open)
            c->open++;
        else
            c->misses++;
        if (*used < ways)
            way = (*used)++;
        else
            way--; /* the one used longest ago goes */
    }
    memmove(set + 1, set, way * sizeof *set);
    set[0] = line;
    return outcome;
}

void ip_cache_run(struct ip_cache *c, const uint64_t *lines, uint64_t n, uint8_t *outcomes) {
    for (uint64_t at = 0; at < n; at++) outcomes[at] = outcome_of(c, lines[at]);
}

void ip_caches_run(struct ip_cache *fetches, struct ip_cache *others, const uint64_t *lines, const uint8_t *fetched,
                   uint64_t n, uint8_t *outcomes) {
    for (uint64_t at = 0; at < n; at++) outcomes[at] = outcome_of(fetched[at] ? fetches : others, lines[at]);
}

/* ---- reuse distances ---- */

#define FIRST_ROOM  1024
#define FIRST_TIMES 4096

static uint64_t hash(uint64_t x) {
    x *= 0x9e3779b97f4a7c15;
    return x ^ x >> 32;
}

static uint64_t slot_of(const struct ip_reuse *r, uint64_t line) {
    uint64_t at = hash(line) & r->mask;
    while (r->slots[at] != 0 && r->lines[r->slots[at] - 1].line != line) at = (at + 1) & r->mask;
    return at;
}

int ip_reuse_open(struct ip_reuse *r, uint64_t threshold, uint64_t most) {
    memset(r, 0, sizeof *r);
    r->threshold = threshold;
    r->most = most;
    r->room = FIRST_ROOM;
    r->mask = 2 * FIRST_ROOM - 1;
    r->times = FIRST_TIMES;
    r->lines = malloc(r->room * sizeof *r->lines);
    r->slots = calloc(r->mask + 1, sizeof *r->slots);
    r->owner = calloc(r->times + 1, sizeof *r->owner);
    r->sums = calloc(r->times + 1, sizeof *r->sums);
    r->distances = calloc(r->room, sizeof *r->distances);
    r->n_distances = r->room;
    if (r->lines != NULL && r->slots != NULL && r->owner != NULL && r->sums != NULL && r->distances != NULL) return 0;
    ip_reuse_close(r);
    return -1;
}

void ip_reuse_close(struct ip_reuse *r) {
    free(r->lines);
    free(r->slots);
    free(r->owner);
    free(r->sums);
    free(r->distances);
    memset(r, 0, sizeof *r);
}

static int grow(struct ip_reuse *r) {
    uint64_t room = 2 * r->room;
    if (r->n_lines >= r->most) return -1;
    struct ip_line *lines = realloc(r->lines, room * sizeof *lines);
    if (lines == NULL) return -1;
    r->lines = lines;
    uint64_t *distances = realloc(r->distances, room * sizeof *distances);
    if (distances == NULL) return -1;
    memset(distances + r->n_distances, 0, (room - r->n_distances) * sizeof *distances);
    r->distances = distances;
    r->n_distances = room;
    uint32_t *slots = calloc(2 * room, sizeof *slots);
    if (slots == NULL) return -1;
    free(r->slots);
    r->slots = slots;
    r->mask = 2 * room - 1;
    r->room = room;
    for (uint64_t n = 0; n < r->n_lines; n++) r->slots[slot_of(r, r->lines[n].line)] = (uint32_t)n + 1;
    return 0;
}

static void add(struct ip_reuse *r, uint64_t time, uint32_t by) {
    for (; time <= r->times; time += time & -time) r->sums[time] += by;
}

static uint64_t up_to(const struct ip_reuse *r, uint64_t time) {
    uint64_t sum = 0;
    for (; time != 0; time &= time - 1) sum += r->sums[time];
    return sum;
}

/* All times are used up: number the lines anew, in the order of their last use. */
static int compact(struct ip_reuse *r) {
    uint64_t times = r->times;
    while (times < 4 * r->n_lines) times *= 2;
    uint32_t *owner = calloc(times + 1, sizeof *owner), *sums = calloc(times + 1, sizeof *sums);
    if (owner == NULL || sums == NULL) {
        free(owner);
        free(sums);
        return -1;
    }
    uint64_t now = 0;
    for (uint64_t time = 1; time <= r->now; time++)
        if (r->owner[time] != 0) {
            owner[++now] = r->owner[time];
            r->lines[owner[now] - 1].last = now;
        }
    free(r->owner);
    free(r->sums);
    r->owner = owner;
    r->sums = sums;
    r->times = times;
    r->now = now;
    for (uint64_t time = 1; time <= now; time++) {
        sums[time]++;
        uint64_t next = time + (time & -time);
        if (next <= times) sums[next] += sums[time];
    }
    for (uint64_t time = now + 1; time <= times; time++) {
        uint64_t next = time + (time & -time);
        if (next <= times) sums[next] += sums[time];
    }
    return 0;
}

int ip_reuse_run(struct ip_reuse *r, const uint64_t *lines, uint64_t n, int how) {
    for (uint64_t at = 0; at < n; at++) {
        uint64_t slot = slot_of(r, lines[at]);
        struct ip_line *line;
        if (r->slots[slot] != 0) {
            line = &r->lines[r->slots[slot] - 1];
            uint64_t distance = line->last == r->now ? 0 : r->n_lines - up_to(r, line->last);
            if (how & IP_REUSE_MEASURE) {
                r->distances[distance]++;
                line->distant += distance > r->threshold;
            }
            if (distance != 0) {
                r->owner[line->last] = 0;
                add(r, line->last, (uint32_t)-1);
                line->last = 0;
            }
        } else {
            if (r->n_lines == r->room) {
                if (grow(r) != 0) return -1;
                slot = slot_of(r, lines[at]);
            }
            line = &r->lines[r->n_lines++];
            memset(line, 0, sizeof *line);
            line->line = lines[at];
            r->slots[slot] = (uint32_t)r->n_lines;
        }
        line->references += how & IP_REUSE_COUNT;
        if (line->last != 0) continue; /* used last already */
        if (r->now == r->times && compact(r) != 0) return -1;
        line->last = ++r->now;
        r->owner[r->now] = (uint32_t)(line - r->lines) + 1;
        add(r, r->now, 1);
    }
    return 0;
}

int ip_reuse_add(struct ip_reuse *r, const uint64_t *lines, const uint64_t *references, const uint64_t *distant,
                 uint64_t n) {
    for (uint64_t at = 0; at < n; at++) {
        uint32_t index = r->slots[slot_of(r, lines[at])];
        if (index == 0) return -1;
        r->lines[index - 1].references += references[at];
        r->lines[index - 1].distant += distant[at];
    }
    return 0;
}
