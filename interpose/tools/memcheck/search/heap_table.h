/* Which records of the client's heap table (heap_abi.h) are of interest.  A
 * run leaves hundred thousands of freed blocks behind, so that making a Python
 * object of each costs more than the run.
 */
#ifndef INTERPOSE_HEAP_TABLE_H
#define INTERPOSE_HEAP_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* table: a copy of n records.  Writes the indices of those whose state is in
 * states (bits 1 << enum ip_block_state) and that touch [lo, hi], ends and the
 * start of an empty block included; at most max.  Returns how many there are
 * up to the point where out was full; resume behind the last one then. */
size_t ip_heap_pick(const void *table, size_t n, uint32_t states, uint64_t lo, uint64_t hi, uint32_t *out, size_t max);

#endif
