/* Counts by key, and what counting tools need of a trace's records.  cffi parses this file. */
#ifndef INTERPOSE_TALLY_H
#define INTERPOSE_TALLY_H

#include <stdint.h>

#include "formats/drmemtrace/reader.h"

struct ip_tally_slot {
    uint64_t key, count; /* count 0: free */
};

struct ip_tally {
    struct ip_tally_slot *slots;
    uint64_t mask, used, seed;
};

/* seed: odd, and unknown to whoever made the trace, so that its keys cannot all meet in one slot. */
int ip_tally_open(struct ip_tally *t, uint64_t seed);
void ip_tally_close(struct ip_tally *t);
/* Each of n keys came counts[i] times, NULL: once.  0, or -1: no memory. */
int ip_tally_add(struct ip_tally *t, const uint64_t *keys, const uint64_t *counts, uint64_t n);
/* All that there are, t->used of them. */
void ip_tally_items(const struct ip_tally *t, uint64_t *keys, uint64_t *counts);

/* The first records that one thread has: adds to types[64], to markers[65536] by number, and pcs of fetched
 * instructions to pcs.  How many records these are, 0: no memory, or none. */
uint64_t ip_mt_count(const struct ip_mt_record *records, uint64_t n, uint64_t *types, uint64_t *markers,
                     struct ip_tally *pcs);

enum ip_mt_touch { IP_MTL_FETCHED = 1, IP_MTL_ACCESSED = 2 };
#define IP_MTL_MOST 65536 /* lines of a record */
/* Lines of 1 << shift bytes that the first records touch, in order, and which are fetched: as many as there is room
 * for, at least IP_MTL_MOST.  How many records these are; *found lines. */
uint64_t ip_mt_lines(const struct ip_mt_record *records, uint64_t n, uint32_t shift, uint32_t touch, uint64_t *lines,
                     uint8_t *fetched, uint64_t room, uint64_t *found);

#endif
