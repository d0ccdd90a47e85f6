/* What a tool may be told of the replaced heap.  As for runtime/hooks.h: bound at link time, and no_heap_hooks.c has
 * weak definitions that do nothing. */
#ifndef INTERPOSE_HEAP_HOOKS_H
#define INTERPOSE_HEAP_HOOKS_H

#include "runtime/hooks.h"

/* While there are several threads and origins are kept, a short way (heap_fast.c) wants heap_lock and what the hooks
 * would wait for, without a wait: false if somebody has it. */
bool heap_hook_hold(struct tstate *ts);
void heap_hook_let_go(void);
/* The payload of a block now belongs to the program: zeroed, or whatever was there. */
void heap_hook_allocated(u64 addr, u64 size, bool zeroed);
/* A block at addr will probably be given or released next: what is kept of its first bytes may be fetched. */
void heap_hook_expected(u64 addr);
/* Memory for many small blocks, of which all is likely to be used soon. */
void heap_hook_span(u64 addr, u64 size);
/* Memory of which no block owns a byte: what is kept about it may be given back.  Under the heap's lock. */
void heap_hook_idle(u64 addr, u64 size);
/* Each cell of stride bytes has a live block of size bytes, at offset: what is kept about them may be kept once for all
 * such spans.  True: it is, until the other one is called, when no block lives there. */
bool heap_hook_alike(u64 addr, u64 bytes, u64 stride, u64 offset, u64 size);
void heap_hook_end_alike(u64 addr, u64 bytes);
/* The same of one live block, which has a span of its own, until it ends. */
bool heap_hook_zeros(u64 addr, u64 size);
void heap_hook_end_zeros(u64 addr, u64 size);
/* It no longer does, but nobody else gets it yet.  idle: for so long that what is kept about it may be given back. */
void heap_hook_released(u64 addr, u64 size, bool idle);
/* A client-defined block, or a part of one, gets a state (RT_SH_*). */
void heap_hook_state(u64 addr, u64 size, int state);
/* Bulk copies and fills for the program (memcpy, memset): whether all the bytes may be accessed; and the
 * bytes have been copied (the ranges may overlap), or filled with the byte at byte_at. */
bool heap_hook_may_access(struct tstate *ts, u64 addr, u64 n);
void heap_hook_copied(struct tstate *ts, u64 dst, u64 src, u64 n);
/* The same of a block's first bytes, whichever may be accessed, into another block, which takes its place. */
void heap_hook_moved(struct tstate *ts, u64 dst, u64 src, u64 n);
void heap_hook_filled(u64 dst, u64 byte_at, u64 n);
/* How many of n bytes from addr on are surely addressable and defined; not all need be counted. */
u64 heap_hook_defined(u64 addr, u64 n);

#endif
