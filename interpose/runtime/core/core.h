/* What this folder offers to the layers above it, and to its neighbours. */
#ifndef INTERPOSE_CORE_LAYER_H
#define INTERPOSE_CORE_LAYER_H

#include "runtime/seam.h"

/* ---- dispatch.c / entry.S --------------------------------------------------- */
/* Called on the runtime stack whenever translated code leaves; guest state is
 * whole in ts.  Returns when ts->target holds the host address to enter. */
void rt_dispatch(struct tstate *ts);
/* The same for a slow path in the middle of a block (entry.S calls it).  0: ts->target is the place in the block to
 * resume at; 1: it is the entry of a block. */
int rt_slow(struct tstate *ts);
/* Does nothing: a breakpoint of interpose/lockstep may lie here. */
void rt_watched(struct tstate *ts);
/* Load the whole guest state from ts and jump to ts->target.  Never returns. */
void rt_enter(struct tstate *ts) RT_NORETURN;
/* A jump to pc, which is none of user space: true if it was a call of the vsyscall page, and is made (vsyscall.c). */
bool rt_vsyscall(struct tstate *ts, u64 pc);
/* That page's line in the list of mappings; "" where there is none. */
const char *rt_vsyscall_line(void);
/* Start running guest code at ts->pc on this thread: rt_enter after a look-up.
 * FS and GS bases must already be the runtime's. */
void rt_run(struct tstate *ts) RT_NORETURN;
/* From now on translations keep every flag and the place of every jump, for a tracer may see them; or the latter. */
void rt_exact(struct tstate *ts);
void rt_note_jumps(struct tstate *ts);
/* Held across a fork, so that the child does not wait for a flush of the parent's. */
void rt_flush_fork_lock(bool lock);
/* Changes whenever translations are dropped. */
u64 rt_drop_epoch(void);
/* In a fork's child: its tables are as they were at that epoch, its memory is later. */
void rt_forked_tables(struct tstate *ts, u64 epoch);
/* Find the block that contains a host pc in the code cache; NULL if none. */
const struct ip_block *rt_block_of(u64 host);
/* The precise-state point that governs host address, IP_PF_RECORDED as well where one before it has that; false: none
 * does. */
bool rt_point_of(const struct ip_block *b, u64 host, struct ip_point *point);
/* Drop translations made from [addr, addr+len) and the page protections. */
void rt_invalidate(struct tstate *ts, u64 addr, u64 len);
/* The same because of a write: where that happens often, blocks compare bytes instead. */
void rt_invalidate_written(struct tstate *ts, u64 addr, u64 len);
/* A tracer may write anywhere from now on: all blocks compare bytes. */
void rt_invalidate_traced(struct tstate *ts);
/* The block of key is not to be entered again: the next request says so. */
void rt_forget_block(struct tstate *ts, u64 key);
/* Tell the translator that writes to this page, which has translated code, will be noticed; or, where others may write
 * it too, that they will not. */
void rt_watched_page(struct tstate *ts, u64 page, bool unnoticed);
/* Count of translations dropped so far because their mapping changed. */
u64 rt_dropped_blocks(void);
/* No other thread is in a block that it entered before this call, when it
 * returns.  No lock may be held. */
void rt_leave_blocks(struct tstate *ts);
/* ---- far.c ------------------------------------------------------------------ */
/* The instruction that IP_X_FAR stands for. */
void rt_far(struct tstate *ts, const struct ip_insn *in);
/* ---- x87.c ------------------------------------------------------------------ */
/* x87 state was stored in guest memory at addr (enum ip_x87_layout), or in an
 * image of ours in the layout of fxsave64. */
void rt_x87_saved(u64 addr, u32 layout);
void rt_x87_image(u8 *image);
/* ---- callstack.c ------------------------------------------------------------------ */
void rt_callstack_new(struct tstate *ts, bool first);
/* A fault because the call stack is full: room is made; false: it is another one. */
struct sig_context;
bool rt_callstack_full(struct tstate *ts, u64 addr, struct sig_context *mc);
void rt_callstack_push(struct tstate *ts, u64 retaddr, u64 slot);
/* A trace that shows so many frames has looked at all entries from the newest to that one: where most are of calls that
 * have been left unseen (a call for the address only, whose word the program pops), they go. */
void rt_callstack_looked(struct tstate *ts, const struct ip_csent *last, u32 shown);
/* RSP leaves the stack in [lo, hi), where it is sp: its newest calls are kept for the return.  stays: and remain among
 * the others, as those of a thread's own stack, which has called the coroutine, do. */
void rt_callstack_leave(struct tstate *ts, u64 lo, u64 hi, u64 sp, bool stays);
/* RSP comes to sp on another stack: the calls that were on it when it was left are the newest ones again. */
void rt_callstack_return(struct tstate *ts, u64 sp);
/* Has the function called moved its return address up, and then RSP above where it was?  libffi's ffi_call_unix64 does,
 * which takes a block of its caller's for its frame: the address is a little above sp then, in the caller's frame.  A
 * function that longjmp has left has no second one there. */
bool rt_callstack_is_moved(const struct tstate *ts, const struct ip_csent *e, u64 sp);
/* RSP has been loaded with sp: frames below it, from lo on, are over. */
void rt_callstack_drop(struct tstate *ts, u64 lo, u64 sp);

#endif
