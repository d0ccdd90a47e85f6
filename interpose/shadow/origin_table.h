/* The tags of the program's memory (origin.h), by granules of four bytes.  All of it under origin_lock.
 *
 * Tags lie as what they belong to does, in chunks that are mapped when something in them gets its first one; so the
 * tags of neighbours are neighbours.  What lies on a stack has an owner beside each tag. */
#ifndef INTERPOSE_ORIGIN_TABLE_H
#define INTERPOSE_ORIGIN_TABLE_H

#include "abi/attached.h"
#include "runtime/base/rt.h"

#define ORIGIN_GRANULE 2  /* log2 of the bytes that share a tag */
#define ORIGIN_LINE    6  /* log2 of those of a line */
#define ORIGIN_BLOCK   8  /* of those of which is known whether any has a tag */
#define ORIGIN_CHUNK   20 /* of those whose tags are mapped together */
#define ORIGIN_TAGS    (1u << (ORIGIN_LINE - ORIGIN_GRANULE))
#define ORIGIN_MANY    (1u << (ORIGIN_CHUNK - ORIGIN_GRANULE))
#define ORIGIN_PAGES   (ORIGIN_MANY * 4 / RT_PAGE)

struct origin_chunk {
    u64 number;               /* addr >> ORIGIN_CHUNK */
    u32 *tags, *owners;       /* ORIGIN_MANY each; no owners: nothing in it has been on a stack */
    u16 blocks[ORIGIN_PAGES]; /* for each page of tags, of which of its blocks something may have one */
    u8 used[ORIGIN_PAGES];    /* whether the page has been written to since it was last given back */
};

/* By a hash of their numbers; a free place has none. */
extern struct origin_place {
    u64 number;
    struct origin_chunk *chunk;
} *origin_places;
extern u64 origin_n_places;

/* The place of the chunk with this number, or the free one where it would be. */
static inline struct origin_place *origin_place_of(u64 number) {
    for (u64 i = number * 0x9e3779b97f4a7c15ull >> 32;; i++) {
        struct origin_place *p = &origin_places[i & (origin_n_places - 1)];
        if (p->number == number || !p->chunk) return p;
    }
}
/* Those that were wanted last, by the low bits of their numbers. */
#define ORIGIN_RECENT 64
extern struct origin_place origin_recent[ORIGIN_RECENT];
static inline struct origin_place *origin_recent_of(struct origin_place *recent, u64 number) {
    return &recent[number % ORIGIN_RECENT];
}
/* The chunk with the tags of addr, or NULL: nothing there has one. */
static inline struct origin_chunk *origin_chunk_of(u64 addr) {
    const u64 number = addr >> ORIGIN_CHUNK;
    struct origin_place *r = origin_recent_of(origin_recent, number);
    if (rt_unlikely(r->number != number || !r->chunk)) *r = *origin_place_of(number);
    return r->chunk;
}
/* Some of a heap block in which nothing has a tag: its loads need to look no further.  Void when the block's record has
 * become another one, or a tag comes there. */
struct origin_untagged {
    u64 lo, size;
    const void *of; /* struct ip_heap_block, with this address, stack and state (its last four bytes) */
    u64 addr;
    u32 ctx, state;
    u32 tag;
    u64 generation; /* origin_generation, as it was */
};
/* What moves.S looks at, each thread's own: no lock is taken there.  C fills it under origin_lock. */
#define ORIGIN_PAGES_OFF 64
struct origin_near {
    struct ip_origins tags; /* of the registers */
    u64 call;               /* moves.S's own */
    struct origin_untagged untagged;
    u64 stacks_seen;           /* rt_stacks_changed, when these pages were on no other thread's stack: by */
    u64 off[ORIGIN_PAGES_OFF]; /* their numbers' low bits */
    struct origin_place recent[ORIGIN_RECENT];
};
struct origin_near *origin_new_near(void);
void origin_end_near(struct origin_near *near);
/* Where several threads have one: counts the blocks that had no tags before. */
extern u64 origin_generation;
/* No stretch that meets [lo, hi) is known any more. */
void origin_void_untagged(u64 lo, u64 hi);
static inline u32 origin_granule(u64 addr) { return (u32)(addr >> ORIGIN_GRANULE) & (ORIGIN_MANY - 1); }

/* Whether something in the block of granule i may have a tag. */
static inline bool origin_noted(const struct origin_chunk *c, u32 i) {
    const u32 block = i >> (ORIGIN_BLOCK - ORIGIN_GRANULE);
    return c->blocks[block / 16] >> block % 16 & 1;
}
/* Up to a block of them have this value. */
static inline void origin_fill(u32 *words, u32 n, u32 value) {
    u64 pair = (u64)value << 32 | value;
    u32 i = 0;
    for (; i + 2 <= n; i += 2) memcpy(words + i, &pair, sizeof pair);
    if (i < n) words[i] = value;
}
/* The granules of [lo, hi) have this tag; owner: which frame holds them, NULL: none. */
void origin_set_tags(u64 lo, u64 hi, u32 tag, const u32 *owner);
/* The same of up to a block. */
static inline void origin_set_few(u64 lo, u64 hi, u32 tag, const u32 *owner) {
    struct origin_chunk *c = origin_chunk_of(lo);
    u32 first = origin_granule(lo), last = origin_granule(hi - 1);
    if (c && last >= first && origin_noted(c, first) && origin_noted(c, last) && (!owner || c->owners)) {
        origin_fill(c->tags + first, last - first + 1, tag);
        if (owner) origin_fill(c->owners + first, last - first + 1, *owner);
    } else {
        origin_set_tags(lo, hi, tag, owner);
    }
}
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
