/* Where a key is looked for in the translation table: the translator fills the
 * table, the client reads it.
 */
#ifndef INTERPOSE_TT_HASH_H
#define INTERPOSE_TT_HASH_H

#include "abi/meta.h"
#include "abi/space.h"

/* Half a kilobyte of the table for one kilobyte of guest code: a program touches
 * half as many pages of the table as of its code, and neighbours stay
 * neighbours.  The high bits, mode bits too, move the whole image. */
static inline uint32_t ip_tt_index(uint64_t key) {
    uint64_t group = (key >> 10) + ((key >> 23) * 0x9e3779b97f4a7c15ull >> 40);
    return ((uint32_t)group << 6 | (uint32_t)(key >> 4 & 63)) & ((1u << IP_META_TTBITS) - 1);
}

/* Where blocks are denser (an interpreter's loop, calls in a row), those that find no place nearby go into a small
 * table behind this one, so that a tenth of the blocks does not touch each page; and where that is full, too, they are
 * scattered: one behind the other, each search would go through all that were before. */
#define IP_TT_NEAR   8       /* rt_find_stub looks at no more */
#define IP_TT_BEHIND 3       /* places of the small table */
#define IP_TT_LEAP   1296111 /* the golden section of the table */

/* Where the search is after n places.  Far ones are leaps, which full stretches of near ones do not stop. */
static inline uint32_t ip_tt_place(uint64_t key, uint32_t n) {
    const uint32_t all = 1u << IP_META_TTBITS, small = 1u << IP_META_TTSMALL;
    if (n < IP_TT_NEAR) return (ip_tt_index(key) + n) & (all - 1);
    uint32_t mixed = (uint32_t)((key ^ key >> 32) * 0x9e3779b97f4a7c15ull >> (64 - IP_META_TTBITS));
    n -= IP_TT_NEAR;
    if (n < IP_TT_BEHIND) return all + ((mixed + n) & (small - 1));
    return (mixed + (n - IP_TT_BEHIND) * IP_TT_LEAP) & (all - 1);
}

_Static_assert(IP_META_TTSIZE == (1u << IP_META_TTBITS) + (1u << IP_META_TTSMALL), "one behind the other");
_Static_assert(IP_META_BLKMAX < IP_TT_GONE, "an entry has room for a block's number");

/* The bits of a key's hash, at their place. */
static inline uint32_t ip_tt_tag(uint64_t key) {
    return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> (32 + IP_TT_TAG_SHIFT)) << IP_TT_TAG_SHIFT;
}

static inline uint32_t ip_tt_block(uint32_t entry) { return (entry & IP_TT_BLOCK) - 1; }

/* Is an entry that is not empty one of the key? */
static inline int ip_tt_is(const struct ip_block *blocks, uint32_t entry, uint64_t key) {
    if ((entry ^ ip_tt_tag(key)) >> IP_TT_TAG_SHIFT || (entry & IP_TT_BLOCK) == IP_TT_GONE) return 0;
    return blocks[ip_tt_block(entry)].key == (entry & IP_TT_NOREDIR ? key & ~IP_KEY_NOREDIR : key) &&
           (key & IP_KEY_NOREDIR || !(entry & IP_TT_NOREDIR));
}

#endif
