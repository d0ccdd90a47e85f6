/* The replaced heap: where blocks lie and what is known about them.
 *
 * Layers: heap_pages.c (address space: arenas, runs of 64 KiB units, the map
 * from address to span), heap_blocks.c (block records, size classes,
 * quarantine), heap_ctx.c (recorded stack traces), heap.c (the requests).
 * The records live outside the client's range, so a wild write of the guest
 * cannot damage them.  One lock guards all of it.
 */
#ifndef INTERPOSE_HEAP_H
#define INTERPOSE_HEAP_H

#include "runtime/base/rt.h"

#include "abi/heap_abi.h"

#define HEAP_UNIT 65536ull

/* A run of units cut into equal cells, one block each; a big block has a span
 * of its own (n == 1). */
struct heap_span {
    u64 lo, hi;
    u64 stride;
    u32 n;      /* cells */
    u32 used;   /* cells handed out so far */
    u32 first;  /* index of the block record of cell 0 */
    u32 number; /* own index */
};

/* heap_pages.c; all under heap_lock */
extern rt_lock_t heap_lock;
extern struct ip_heap_table *heap_table;
void heap_pages_init(void);
/* Units for a span of at least bytes; zeroed memory, noaccess; NULL: no memory. */
struct heap_span *heap_span_new(u64 bytes);
/* Give the units back; contents are dropped; no block lies there any more. */
void heap_span_free(struct heap_span *s);
/* Narrow [lo, hi), which holds addr, so that it holds no arena that addr is not in. */
void heap_keep_out(u64 addr, u64 *lo, u64 *hi);
/* The span that addr lies in, or NULL. */
struct heap_span *heap_span_of(u64 addr);

/* heap_blocks.c; under heap_lock except where said */
struct ip_heap_block *heap_block(u32 index);
/* A new live block (addr, size, kind, align filled), or 0. */
u32 heap_block_new(u64 size, u64 align, int kind, bool *zeroed);
/* Into the quarantine, oldest ones out of it. */
void heap_block_retire(u32 index);
/* The live block whose payload starts at addr, or 0. */
u32 heap_block_exact(u64 addr);
/* Bytes from an allocated block's payload to the end of its cell. */
u64 heap_block_room(u32 index);
u32 heap_record_new(void);       /* a record without a cell (client-defined) */
void heap_custom_add(u32 index); /* client-defined blocks: by address */
u32 heap_custom_find(u64 addr, bool remove);
/* Live block that contains addr?  Takes the lock. */
bool heap_block_at(u64 addr, u64 *lo, u64 *size);
/* Record of the live or quarantined block that addr is in or near; 0 if none.
 * Takes the lock. */
u32 heap_describe(u64 addr);

/* The next block behind i, 0 for the first one, that is allocated and not freed; 0: there is none. */
u32 heap_block_next_live(u32 i);

/* heap_ctx.c; under heap_lock */
u32 heap_ctx(const u64 *frames, u32 n);

/* heap.c */
/* Client requests MALLOCLIKE_BLOCK, FREELIKE_BLOCK, RESIZEINPLACE_BLOCK
 * (docs/spec/client-requests.md section 3).  False: no such block (reported). */
void rt_heap_malloclike(struct tstate *ts, u64 addr, u64 size, u64 rz, bool zeroed);
bool rt_heap_freelike(struct tstate *ts, u64 addr, u64 rz);
bool rt_heap_resize(struct tstate *ts, u64 addr, u64 old_size, u64 new_size, u64 rz);

/* A request of the replaced malloc family (IP_HR_*, heap_abi.h) is answered; false: it is none. */
bool heap_request(struct tstate *ts, u64 code, const u64 args[5], u64 *result);
u64 rt_heap_request(struct tstate *ts, u64 code, const u64 args[5]);
/* Held across a fork. */
void rt_heap_fork_lock(void);
void rt_heap_fork_unlock(void);

#endif
