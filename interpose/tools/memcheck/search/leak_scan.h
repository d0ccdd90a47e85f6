/* Leak search: find the words of a copy of client memory that point into heap
 * blocks.  The graph over what is found is built in Python
 * (tools/memcheck/leak.py).
 */
#ifndef INTERPOSE_LEAK_SCAN_H
#define INTERPOSE_LEAK_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "jit/system.h"

#define IP_NO_HOLDER 0xffffffff

struct ip_hit {
    uint64_t where;  /* client address of the word */
    uint64_t offset; /* of the pointer into the block, 0 = its start */
    uint32_t block;  /* index of the block pointed at */
    uint32_t holder; /* index of the block the word begins in, or
                        IP_NO_HOLDER */
};

/* words[0..n) is a copy of the client's memory at base (a multiple of 8).
 * Blocks are sorted by start and do not overlap, an empty one counts as one byte; lo is the first start and hi
 * the last end.  Writes at most max hits, in order of where, and returns how
 * many; if that is max, resume after the last hit's word. */
size_t ip_scan_words(const uint64_t *words, size_t n, uint64_t base, const struct ip_range *sorted_blocks,
                     size_t nblocks, uint64_t lo, uint64_t hi, struct ip_hit *out, size_t max);

/* For words in ascending order: good[i] = 1 if the eight bytes at addrs[i] + shift, read through the
 * descriptor of the client's memory, are all zero (V bytes: addressable and defined). */
void ip_valid_words(int mem, uint64_t shift, const uint64_t *addrs, size_t n, uint8_t *good);

/* The words at addrs[0..n), best in ascending order, read through the same descriptor; 0 where that fails. */
void ip_read_words(int mem, const uint64_t *addrs, size_t n, uint64_t *words);

#endif
