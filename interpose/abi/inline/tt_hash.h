/* Where a key's search in the translation table begins: the translator fills
 * the table, the client reads it.
 */
#ifndef INTERPOSE_TT_HASH_H
#define INTERPOSE_TT_HASH_H

#include "abi/meta.h"

/* One kilobyte of the table for one kilobyte of guest code: a program touches
 * about as many pages of the table as of its code, and neighbours stay
 * neighbours.  The high bits, mode bits too, move the whole image. */
static inline uint32_t ip_tt_index(uint64_t key) {
    uint64_t group = (key >> 10) + ((key >> 23) * 0x9e3779b97f4a7c15ull >> 40);
    return ((uint32_t)group << 6 | (uint32_t)(key >> 4 & 63)) & ((1u << IP_META_TTBITS) - 1);
}

#endif
