/* Errors of the program: described in place, told once. */
#ifndef INTERPOSE_ERRORS_H
#define INTERPOSE_ERRORS_H

#include "runtime/base/rt.h"

/* An error is built in place, in the thread's channel slot.  begin fills kind, pc, sp and the stack; nothing may use
 * the slot before end. */
struct ip_error *rt_error_begin(struct tstate *ts, int kind);
void rt_error_end(struct tstate *ts, struct ip_error *e);
/* How many there have been, known and suppressed ones, too. */
u64 rt_errors_met(void);
/* VALGRIND_{DISABLE,ENABLE}_ERROR_REPORTING: per-thread counter. */
void rt_error_disable(struct tstate *ts, long delta);
/* So, or because it is a child by vfork that is to be silent: its lines would be its parent's, and what it has met
 * would be known when that meets it. */
bool rt_errors_are_off(struct tstate *ts);
/* Held across a fork, so that the child does not find it taken. */
void rt_error_fork_lock(bool take);
/* Guest stack trace: frames[0] = ts->pc, then return addresses; returns count. */
u32 rt_stack_trace(struct tstate *ts, u64 *frames, u32 max);
/* Would that be these n (not 0)?  False also where it is long to tell. */
bool rt_stack_is(struct tstate *ts, const u64 *frames, u32 n, u32 max);

#endif
