/* Caches and reuse distances over sequences of line numbers.  Both can be run over a part of a sequence alone and put
 * together exactly afterwards, because they use least-recently-used order: what a part cannot know is only the outcome
 * of its first access to a line, and that follows from the order in which lines were last used before it.  cffi parses
 * this file.
 */
#ifndef INTERPOSE_LOCALITY_H
#define INTERPOSE_LOCALITY_H

#include <stdint.h>

enum ip_cache_outcome {
    IP_CACHE_HIT,
    IP_CACHE_MISS,
    IP_CACHE_OPEN, /* a miss, unless the line was there before the part began */
};

struct ip_cache {
    uint64_t sets, ways; /* sets: a power of two */
    uint64_t *lines;     /* of each set, the one used last first */
    uint32_t *used;      /* ways of each set that hold a line */
    uint32_t is_part;    /* what was there before is not known */
    uint32_t pad;
    uint64_t hits, misses, open;
};

int ip_cache_open(struct ip_cache *c, uint64_t sets, uint64_t ways, int is_part);
void ip_cache_close(struct ip_cache *c);
/* outcomes: one for each access. */
void ip_cache_run(struct ip_cache *c, const uint64_t *lines, uint64_t n, uint8_t *outcomes);
/* Those that are fetched to one cache, the others to another. */
void ip_caches_run(struct ip_cache *fetches, struct ip_cache *others, const uint64_t *lines, const uint8_t *fetched,
                   uint64_t n, uint8_t *outcomes);

struct ip_line {
    uint64_t line;
    uint64_t references, distant;
    uint64_t last; /* orders lines by their last use */
};

struct ip_reuse {
    struct ip_line *lines; /* in the order of their first use */
    uint64_t n_lines, room, most;
    uint32_t *slots; /* by line: index + 1 */
    uint64_t mask;
    uint32_t *owner, *sums; /* by time: index + 1 of the line used last then; how many there are (a Fenwick tree) */
    uint64_t now, times;
    uint64_t threshold;  /* a longer distance is distant */
    uint64_t *distances; /* how often each distance came */
    uint64_t n_distances;
};

/* most: how many lines may be kept. */
int ip_reuse_open(struct ip_reuse *r, uint64_t threshold, uint64_t most);
void ip_reuse_close(struct ip_reuse *r);
enum ip_reuse_how { IP_REUSE_COUNT = 1, IP_REUSE_MEASURE = 2 }; /* references; distances */
/* 0, or -1: no memory, or more lines than may be kept. */
int ip_reuse_run(struct ip_reuse *r, const uint64_t *lines, uint64_t n, int how);
/* What a part has counted of a line. */
int ip_reuse_add(struct ip_reuse *r, const uint64_t *lines, const uint64_t *references, const uint64_t *distant,
                 uint64_t n);

#endif
