/* The replaced heap: where blocks lie and what is known about them.
 *
 * Layers: heap_pages.c (address space: arenas, runs of 64 KiB units, the map
 * from address to span), heap_cells.h and heap_blocks.c (block records, size
 * classes, quarantine), heap_ctx.c (recorded stack traces), heap_pools.c (memory pools),
 * heap_bulk.c (runs of bytes for string functions), heap.c (the other requests).
 * The records live outside the client's range, so a wild write of the guest
 * cannot damage them.  One lock guards all of it.
 */
#ifndef INTERPOSE_HEAP_H
#define INTERPOSE_HEAP_H

#include "runtime/base/rt.h"

#include "abi/heap_abi.h"

#define HEAP_UNIT IP_HEAP_UNIT
/* Bytes of the largest cell: blocks that need more, with their red zones, have pages of their own. */
#define HEAP_SMALL (32ull << 10)
/* From here on what is kept about a block goes back as it is freed, by whole pages. */
#define HEAP_LARGE (4ull << 20)

_Static_assert(sizeof(struct ip_heap_span) == 64, "a line each: each release of a block reads it");
#define HEAP_INVERSE 35
static inline u64 heap_span_end(const struct ip_heap_span *s) { return s->lo + s->units * HEAP_UNIT; }

/* heap_pages.c; all under heap_lock */
extern rt_lock_t heap_lock;
extern struct ip_heap_table *heap_table;
extern bool heap_is_plain; /* it exists, and there is no option that wants more done than blocks given and taken */
/* Spans by unit, in two levels. */
#define HEAP_LEAF_BITS IP_HEAP_LEAF_BITS
#define HEAP_TOP_BITS  15 /* 45-bit client addresses, 16-bit units */
extern struct ip_heap_span **heap_unit_map[];
void heap_pages_init(void);
/* Units for a span of at least bytes; zeroed memory, noaccess; NULL: no memory. */
struct ip_heap_span *heap_span_new(u64 bytes);
/* The same, of a span of one block that was given back lately, and with what was in it; NULL: there is none of that
 * size. */
struct ip_heap_span *heap_span_again(u64 bytes);
/* Give the units back; contents are dropped; no block lies there any more. */
void heap_span_free(struct ip_heap_span *s);
/* The whole pages of a block go to where another one lies, if they can: [*lo, *hi) of its bytes, else none. */
void heap_move_pages(u64 to, u64 from, u64 bytes, u64 *lo, u64 *hi);
/* Narrow [lo, hi), which holds addr, so that it holds no arena that addr is not in. */
void heap_keep_out(u64 addr, u64 *lo, u64 *hi);
/* The span that addr lies in, or NULL. */
static inline struct ip_heap_span *heap_span_of(u64 addr) {
    u64 u = addr / HEAP_UNIT;
    if (rt_unlikely(addr >= IP_CLIENT_END || !heap_unit_map[u >> HEAP_LEAF_BITS])) return NULL;
    return heap_unit_map[u >> HEAP_LEAF_BITS][u & ((1 << HEAP_LEAF_BITS) - 1)];
}

/* heap_blocks.c; under heap_lock except where said */
static inline struct ip_heap_block *heap_block(u32 index) {
    return (struct ip_heap_block *)heap_table->chunks[index / IP_HEAP_CHUNK] + index % IP_HEAP_CHUNK;
}
/* A new live block (addr, size, kind, align filled), or 0. */
u32 heap_block_new(u64 size, u64 align, int kind, bool *zeroed);
/* Into the quarantine. */
void heap_block_retire(u32 index);
/* The live block whose payload starts at addr, or 0. */
u32 heap_block_exact(u64 addr);
/* Bytes from an allocated block's payload to the end of its cell. */
u64 heap_block_room(u32 index);
/* A record without a cell, client-defined; pooled: a chunk of a memory pool, with a struct ip_heap_pooled behind it.
 * It goes back as what its kind says. */
u32 heap_record_new(bool pooled);
void heap_record_free(u32 index);
void heap_custom_add(u32 index); /* client-defined blocks: by address */
u32 heap_custom_find(u64 addr, bool remove);
/* A block that lies wholly in [lo, hi), taken out; 0: there is none from place *at on, which is advanced. */
u32 heap_custom_take(u64 lo, u64 hi, u32 *at);
/* Has the program made a block longer, maybe than its place (RESIZEINPLACE_BLOCK)? */
extern bool heap_has_resized;
/* Live block that contains addr?  Takes the lock. */
bool heap_block_at(u64 addr, u64 *lo, u64 *size);
/* Record of the live or quarantined block that addr is in or near; 0 if none.
 * Takes the lock. */
u32 heap_describe(u64 addr);
/* The recorded stack that allocated the block, live or quarantined, that addr is in, 0 where none is kept; false: it is
 * in no block.  [addr, *end) is all that block's. */
bool heap_allocated_by(u64 addr, u32 *ctx, u64 *end);
/* The same, where no block lies in another one: its record, or NULL.  While that has the address, the stack and the
 * state that it has now, so it is. */
const struct ip_heap_block *heap_plain_block(u64 addr);

/* The next block behind i, 0 for the first one, that is allocated and not freed; 0: there is none. */
u32 heap_block_next_live(u32 i);

/* heap_idle.c; under heap_lock */
/* So many bytes are in spans now. */
void heap_grown(u64 in_spans);
/* A span has been made for this class: those before it may be full. */
void heap_span_made(struct ip_heap_span *s);
/* So many bytes have been freed that a look at them is due. */
extern u64 heap_freed_due;
void heap_freed_much(void);
/* A block of so many bytes goes into the quarantine: is what is kept about it to be given back at once? */
bool heap_gives_back(u64 addr, u64 bytes);
u64 heap_processor_time(int clock); /* in microseconds */
static inline u64 heap_freed(void) { return heap_table->bytes_allocated - heap_table->live_bytes; }
static inline bool heap_has_freed_much(void) { return rt_unlikely((i64)(heap_freed() - heap_freed_due) >= 0); }

/* heap_extents.c: do any of n pieces of memory overlap?  They are sorted by address. */
struct heap_extent {
    u64 addr, end;
};
bool heap_extents_overlap(struct heap_extent *e, u32 n);

/* heap_ctx.c; under heap_lock */
u32 heap_ctx(const u64 *frames, u32 n);
u32 heap_ctx_of(u64 pc); /* of this frame alone */
/* What that looks at, and assembly in its place (shadow/moves.S): by a hash of the address; void when
 * *heap_ctx_outdated is not 0. */
#define HEAP_SINGLES 256
extern struct heap_single {
    u64 pc;
    u32 ctx;
} heap_singles[HEAP_SINGLES];
extern const u64 *heap_ctx_outdated;
u32 heap_ctx_now(struct tstate *ts); /* of the thread's stack as it is */
/* Add up what a stack allocates and frees (struct ip_heap_count), where that is wanted. */
void heap_add_up(u32 ctx, u64 bytes, bool freed);
static inline void heap_count(u32 ctx, u64 bytes, bool freed) {
    if (rt.flags & IP_C_HEAP_COUNTS) heap_add_up(ctx, bytes, freed);
}

/* heap.c */
void heap_lock_all(void); /* takes heap_lock; the heap is ready then */
struct heap_trace {
    u32 n;
    u64 frames[512];
};
/* The thread's stack, if the flag of the channel is set that wants it. */
void heap_take_trace(struct tstate *ts, struct heap_trace *t, u64 wanted);
/* The block has just been allocated, with this stack: counted, and noted in its record.  Under the lock. */
struct ip_heap_block *heap_note_new(u32 index, u64 size, const struct heap_trace *t);
/* So many of a block's bytes as there are addresses for. */
u64 heap_fitting(u64 addr, u64 size);
/* A state (RT_SH_*) for a range; the bytes before and behind it, as far as there are addresses, are nobody's. */
void heap_set_with_red_zones(u64 addr, u64 size, u64 rz, int state);
/* The client-defined blocks that lie wholly in [lo, hi) are freed.  Under the lock. */
void heap_custom_release(u64 lo, u64 hi, const struct heap_trace *t);

/* heap_pools.c */
/* Requests about memory pools (INTERPOSE_RQ_*MEMPOOL*); false: it is none. */
bool rt_heap_pool(struct tstate *ts, u64 code, const u64 args[5], u64 *result);
/* The smallest chunk that holds addr; 0: none does.  Under the lock. */
u32 heap_chunk_at(u64 addr);
/* Has there been one? */
bool heap_has_chunks(void);

/* Client requests MALLOCLIKE_BLOCK, FREELIKE_BLOCK, RESIZEINPLACE_BLOCK
 * (docs/spec/client-requests.md section 3).  False: no such block (reported). */
void rt_heap_malloclike(struct tstate *ts, u64 addr, u64 size, u64 rz, bool zeroed);
bool rt_heap_freelike(struct tstate *ts, u64 addr, u64 rz);
bool rt_heap_resize(struct tstate *ts, u64 addr, u64 old_size, u64 new_size, u64 rz);

/* heap_entry.S: jumped to by translated code with the exit of a request. */
extern char rt_heap_stub[];

/* heap_bulk.c: IP_HR_COPY, IP_HR_FILL, IP_HR_PLAIN */
bool heap_bulk_copy(struct tstate *ts, u64 dst, u64 src, u64 n);
bool heap_bulk_fill(struct tstate *ts, u64 dst, u64 byte_at, u64 n);
u64 heap_plain_run(u64 at, u64 n, u8 byte);

/* --trace-malloc=yes. */
void heap_show_call(struct tstate *ts, u64 code, const u64 args[5], u64 result);
/* A request of the replaced malloc family (IP_HR_*, heap_abi.h) is answered; false: it is none. */
bool heap_request(struct tstate *ts, u64 code, const u64 args[5], u64 *result);
u64 rt_heap_request(struct tstate *ts, u64 code, const u64 args[5]);
/* Held across a fork. */
void rt_heap_fork_lock(void);
void rt_heap_fork_unlock(void);

#endif
