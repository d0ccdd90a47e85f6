/* Origins of undefined values (--track-origins=yes).
 *
 * docs/memcheck.md, "Origins": undefined memory that was never
 * copied has its block's allocation, or the frame that holds it, as origin;
 * only values that moved carry a tag, in registers and, for memory, in a table
 * by 4-byte granule.  All of it is touched by tracking translations only.
 *
 * A tag is kind << IP_ORIGIN_SHIFT | number of a recorded stack.  0: there is none; what is copied from
 * memory that nobody knows anything about carries ORIGIN_UNKNOWN, so
 * that it is not taken for undefined memory of the place it goes to.
 */
#ifndef INTERPOSE_ORIGIN_H
#define INTERPOSE_ORIGIN_H

#include "shadow/track.h"

#define ORIGIN_UNKNOWN 1u
/* ORIGIN_DEEP: of a frame, more than a red zone below where it begins. */
enum { ORIGIN_HEAP = 1, ORIGIN_STACK = 2, ORIGIN_CLIENT = 3, ORIGIN_OTHER = 4, ORIGIN_DEEP = 5 };

/* Of the tags of memory; nothing is called under it. */
extern rt_lock_t origin_lock;

static inline bool origins_kept(void) { return rt.flags & IP_C_ORIGINS; }

/* A short way, which may wait for nobody, has origin_lock and heap_lock from here on: false if somebody else has one.
 * What is declared here takes them as theirs meanwhile.  With one thread there is no need. */
bool origin_hold(struct tstate *ts);
void origin_let_go(void);

struct ip_origins *origin_new_tags(struct tstate *ts);
/* The thread is about to end: what is kept for it is another one's next. */
void origin_thread_end(struct tstate *ts);
/* The tags of the thread's registers. */
static inline struct ip_origins *origin_tags(struct tstate *ts) {
    u64 p = rt_th(ts)->origin_tags;
    return p ? (struct ip_origins *)p : origin_new_tags(ts);
}

/* How old: by its stack.  Nothing that is known is older than all. */
static inline u32 origin_age(u32 tag) { return tag >> IP_ORIGIN_SHIFT ? 1 + (tag & ((1u << IP_ORIGIN_SHIFT) - 1)) : 0; }
/* Of a value with two undefined parts, whose tags are these: the one whose stack was seen first most recently, as under
 * Valgrind.  0 for one: there is none yet. */
static inline u32 origin_newer(u32 one, u32 other) {
    return origin_age(other) > origin_age(one) ? other : one ? one : ORIGIN_UNKNOWN;
}

/* Of n addressable bytes, up to 32, whose V bits are v; 0: they are defined. */
u32 origin_loaded(struct tstate *ts, u64 addr, u64 n, const u64 *v);
/* Such bytes have become v, with this tag as far as they are undefined. */
void origin_stored(struct tstate *ts, u64 addr, u64 n, const u64 *v, u32 tag);
/* Of an instruction about to be tracked: what its undefined inputs come from. */
void origin_begin(struct tk *t);
/* After it: its undefined outputs come from there. */
void origin_end(struct tk *t);
/* In between: of elements that a gather or masked load takes, or that a scatter or masked store has stored. */
void origin_from_elements(struct tk *t, u64 at, u64 n);
void origin_to_elements(struct tk *t, u64 at, u64 n);
/* Of an x87 register by its number, or TK_X87_FSW, which the instruction reads or writes. */
#define TK_X87_FSW 8
void origin_from_x87(struct tk *t, unsigned r);
void origin_to_x87(struct tk *t, unsigned r);
/* Of an image of registers, whose parts have an origin each: the instruction reads this one only, until the next. */
void origin_only_x87(struct tk *t, unsigned r);
void origin_only_vec(struct tk *t, unsigned r);
void origin_only_k(struct tk *t, unsigned r);
void origin_only_element(struct tk *t, u64 at, u64 n);
void origin_to_vec(struct tk *t, unsigned r);
void origin_to_k(struct tk *t, unsigned r);
/* Of a register. */
u32 origin_of_gpr(struct tstate *ts, unsigned r);
/* Of the undefined byte at addr. */
u32 origin_of_memory(struct tstate *ts, u64 addr);
/* [dst, dst+n) is a copy of [src, src+n), as that was; they may overlap. */
void origin_copied(struct tstate *ts, u64 dst, u64 src, u64 n);
/* What was known about [addr, addr+n) is void: allocated anew. */
void origin_forget(u64 addr, u64 n);
/* The same of a block of the program's own, from which on blocks may lie in one another. */
void origin_of_block(u64 addr, u64 n);
/* A short way (origin_hold) has moved what is undefined at addr: assembly may do so next time. */
void origin_note_place(struct tstate *ts, u64 addr);
/* The program made [addr, addr+n) undefined by a request. */
void origin_by_request(struct tstate *ts, u64 addr, u64 n);
/* A heap block has grown in place by [addr, addr+n): not its allocation's. */
void origin_by_heap(struct tstate *ts, u64 addr, u64 n);
/* The system call that ts is in, which is two bytes long, has made them so. */
void origin_by_call(struct tstate *ts, u64 addr, u64 n);

#endif
