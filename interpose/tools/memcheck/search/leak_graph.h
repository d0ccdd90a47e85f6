/* Leak search: what the pointers that leak_scan.c found make of the blocks, and the
 * blocks by kind of loss and stack.  Python (tools/memcheck/leak.py) decides what
 * counts as a block and as a pointer, and answers for heuristics.
 */
#ifndef INTERPOSE_LEAK_GRAPH_H
#define INTERPOSE_LEAK_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "tools/memcheck/search/leak_scan.h"

struct ip_leak_block {
    uint64_t addr, size;
    uint32_t origin; /* who allocated it: number of a recorded stack, or what the caller says */
    uint32_t kind;   /* enum ip_alloc_kind */
    uint32_t
        detail; /* of a memory pool's chunk its red zone; of what malloc and its like gave, how many they gave before */
    uint32_t place; /* among the blocks as they came, to keep that order where all else is the same */
};

/* What a set of blocks is like. */
#define IP_LB_TOUCHING  1 /* some lie in others, or begin where others do */
#define IP_LB_ALLOCATED 2 /* not all are chunks of memory pools */

/* The live ones of records[0..n), a copy of client memory with struct ip_heap_block; returns how many. */
size_t ip_leak_pick(const void *records, size_t n, struct ip_leak_block *out);

/* Sort by address, of nested ones the outer first, and behind an empty block at its address; returns IP_LB_*. */
uint32_t ip_leak_sort(struct ip_leak_block *blocks, size_t n);

/* The bytes of sorted blocks for ip_scan_words. */
void ip_leak_ranges(const struct ip_leak_block *blocks, size_t n, struct ip_range *out);

/* The chunk of a kind of memory pool that is nearest to an address which lies in it or in its red zone, of nested
 * ones the smallest, or -1. */
int64_t ip_leak_chunk_at(const struct ip_leak_block *blocks, size_t n, uint32_t kind, uint64_t addr);

/* Keep the hits whose good[i] is not 0; returns how many. */
size_t ip_leak_keep(struct ip_hit *hits, size_t n, const uint8_t *good);

/* State of a block; the first four are State in leak.py. */
enum ip_leak_state { IP_LS_REACHABLE, IP_LS_POSSIBLE, IP_LS_INDIRECT, IP_LS_DEFINITE, IP_LS_UNSEEN };

#define IP_LEAK_HEURISTICS 8

/* Which pointers into a block no heuristic takes. */
#define IP_LR_WORD   1 /* one word behind its start */
#define IP_LR_HEADER 2 /* three words */
#define IP_LR_ELSE   4 /* elsewhere: what the caller says, for the block does not begin with a table of functions */

/* A walk through the graph.  The caller fills in the first part, and gives zeroed memory for the second. */
struct ip_leak_walk {
    const struct ip_leak_block *blocks;
    const struct ip_hit *hits;
    size_t n_blocks, n_hits;
    int asks; /* whether to ask for heuristics at all */

    uint8_t *state;     /* n_blocks: enum ip_leak_state */
    uint8_t *heuristic; /* n_blocks: by which one it was found, or 0 */
    uint8_t *refused;   /* n_blocks: IP_LR_*, so that one that very many point into is asked about few times */
    uint32_t *clique;   /* n_blocks: of an indirectly lost block the leader, else itself */
    size_t *first;      /* n_blocks + 2: where in order the hits of a holder begin; roots hang on block n_blocks */
    uint32_t *order;    /* n_hits: the hits by holder */
    uint32_t *queue;    /* 2 * n_blocks + n_hits: blocks to look at; at the end those that are lost, by age */

    int stage;
    size_t at, queued;
    uint32_t holder;
    int answer; /* the caller's: number of the heuristic that takes the hit, from 1, or 0 */
};

/* The blocks that are pointed into elsewhere (IP_LR_ELSE), and where they begin, by address: there is room for
 * n_blocks.  Such pointers are refused from now on: the caller takes that back for a block that may begin with a
 * table.  Returns how many there are. */
size_t ip_leak_inner(struct ip_leak_walk *walk, uint32_t *blocks, uint64_t *addrs);

/* Go on; returns the index of a hit for which an answer is needed, or -1 when done. */
int64_t ip_leak_go(struct ip_leak_walk *walk);

/* Blocks of the same state and origin. */
struct ip_leak_group {
    uint64_t bytes, blocks;
    uint64_t indirect_bytes, indirect_blocks; /* what hangs on them */
    uint32_t origin, state;
};

/* groups in the order in which their first blocks lie; group_of[n_blocks] says where each block is.  slots[n_slots], a
 * power of two, and groups[n_slots / 2] are given; returns how many there are, or 0 if that is too little. */
size_t ip_leak_groups(const struct ip_leak_walk *walk, uint32_t *slots, size_t n_slots, struct ip_leak_group *groups,
                      uint32_t *group_of);

/* Bytes and blocks of each of the first four states. */
void ip_leak_by_state(const struct ip_leak_walk *walk, uint64_t *bytes, uint64_t *blocks);

/* Bytes and blocks that each heuristic found, by its number: arrays of IP_LEAK_HEURISTICS. */
void ip_leak_by_heuristic(const struct ip_leak_walk *walk, uint64_t *bytes, uint64_t *blocks);

#endif
