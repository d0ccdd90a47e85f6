/* Which records of the client's heap table (heap_abi.h) are of interest.  A
 * run leaves hundred thousands of freed blocks behind, so that making a Python
 * object of each costs more than the run.
 */
#ifndef INTERPOSE_HEAP_TABLE_H
#define INTERPOSE_HEAP_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "abi/heap_abi.h"
#include "tools/memcheck/memcheck_abi.h"

struct ip_near_block {
    struct ip_heap_block block;
    uint64_t redzone; /* of a memory pool's chunk */
};

/* Live and freed blocks that touch [addr - distance, addr + distance], ends and the start of an empty block included,
 * or that are chunks of a memory pool whose red zone does.  mem is the client's memory, table where its struct
 * ip_heap_table is.  Writes at most max of them; returns how many there are. */
size_t ip_heap_near(int mem, uint64_t table, uint64_t addr, uint64_t distance, struct ip_near_block *out, size_t max);

/* The record of a block that is live or freed, by its number; 0: there is none. */
size_t ip_heap_numbered(int mem, uint64_t table, uint64_t number, struct ip_near_block *out);

/* What of the heap's memory around addr is no block's, nor its red zone: [out[0], out[1]), as far as it lies in one
 * span or between two; 0: addr is not in such. */
size_t ip_heap_unallocated(int mem, uint64_t table, uint64_t addr, uint64_t redzone, uint64_t *out);

/* The block of the lowest number that holds addr, of those that the program has described; 0: none does.  root is where
 * the client's struct mc_root is.  A block that wraps around holds nothing. */
size_t ip_described_at(int mem, uint64_t root, uint64_t addr, struct mc_described *out);

#endif
