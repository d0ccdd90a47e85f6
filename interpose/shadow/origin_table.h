/* The tags of the program's memory (origin.h), by granules of four bytes.  All of it under origin_lock. */
#ifndef INTERPOSE_ORIGIN_TABLE_H
#define INTERPOSE_ORIGIN_TABLE_H

#include "runtime/base/rt.h"

#define ORIGIN_GRANULE  2 /* log2 of the bytes that share a tag */
#define ORIGIN_LINE     6 /* log2 of those of a row */
#define ORIGIN_TAGS     (1u << (ORIGIN_LINE - ORIGIN_GRANULE))
#define ORIGIN_OWNERS   (1ull << 39)
#define ORIGIN_NEAR     3  /* log2 of the neighbours whose slots lie side by side, in one line of the cache */
#define ORIGIN_ROW_BITS 24 /* of a row's number: tags for 1 GiB of the program's memory.  Beyond, nothing has one. */

_Static_assert(IP_CLIENT_END >> ORIGIN_LINE <= ORIGIN_OWNERS, "a line's number leaves the bit of owners alone");

struct origin_row {
    u32 of[ORIGIN_TAGS];
};

/* A slot is key << ORIGIN_ROW_BITS | number of the row, from 1 on; 0: free.  A key is the line's number, for owners
 * with ORIGIN_OWNERS.  Half as many rows as slots. */
extern u64 *origin_slots, origin_n_slots;
extern struct origin_row *origin_rows;

static inline u64 origin_key(u64 addr) { return addr >> ORIGIN_LINE; }
static inline u32 origin_place(u64 addr) { return (addr >> ORIGIN_GRANULE) & (ORIGIN_TAGS - 1); }

/* The slot of a key, or the free one where it would be; there are slots. */
static inline u64 *origin_slot(u64 key) {
    u64 group = (key >> ORIGIN_NEAR) * 0x9e3779b97f4a7c15ull >> 20;
    for (u64 i = group << ORIGIN_NEAR | (key & ((1u << ORIGIN_NEAR) - 1));; i++) {
        u64 *s = &origin_slots[i & (origin_n_slots - 1)];
        if (!*s || *s >> ORIGIN_ROW_BITS == key) return s;
    }
}

static inline struct origin_row *origin_row_of(u64 slot) { return &origin_rows[slot & ((1u << ORIGIN_ROW_BITS) - 1)]; }

/* The tag of addr, or 0. */
static inline u32 origin_tag(u64 addr) {
    u64 slot = origin_slots ? *origin_slot(origin_key(addr)) : 0;
    return slot ? origin_row_of(slot)->of[origin_place(addr)] : 0;
}
/* There is one: who owned the granule when it was set. */
static inline u32 origin_owner(u64 addr) {
    u64 slot = *origin_slot(origin_key(addr) | ORIGIN_OWNERS);
    return slot ? origin_row_of(slot)->of[origin_place(addr)] : 0;
}
/* The granules of [lo, hi) have this tag; owner: which frame holds them, NULL: none. */
void origin_set_tags(u64 lo, u64 hi, u32 tag, const u32 *owner);
/* So many granules, all in one line, have these tags. */
void origin_put_tags(u64 lo, u32 n, const u32 *tags, const u32 *owner);
/* The tags of so many granules, ORIGIN_TAGS at most; 0 for those that have none. */
void origin_get_tags(u64 lo, u32 n, u32 *tags);
/* What is undefined among n bytes, which nobody's stack holds, has the tags of as many, which lie in their granules as
 * those do; untagged: of those that have none; alike: it is what they have there without one, too.  So many lines at
 * most. */
void origin_copy_tags(u64 to, u64 from, u64 n, u32 untagged, bool alike, u64 *lines);
/* The granules of [lo, hi) have none. */
void origin_forget_tags(u64 lo, u64 hi);

#endif
