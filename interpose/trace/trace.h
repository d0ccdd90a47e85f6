/* Records of what a thread runs (abi/trace.h): its buffer, and what the runtime adds to it.  A tool that traces defines
 * tr_consume, and hands the hooks of runtime/hooks.h on to the functions below. */
#ifndef INTERPOSE_TRACE_H
#define INTERPOSE_TRACE_H

#include "abi/trace.h"
#include "runtime/hooks.h"
#include "trace/trace_hooks.h"

void tr_thread_begin(struct tstate *ts);
void tr_thread_end(struct tstate *ts);
/* Every thread's buffer to tr_consume; before an exec, where others still run, this one's alone. */
void tr_leaving(struct tstate *ts, bool for_exec);
void tr_fork(struct tstate *ts, bool child);
void tr_full(struct tstate *ts);
/* Has the run of the block been recorded, or counted, at this point of its code? */
bool tr_is_recorded(const struct ip_block *b, const struct ip_point *point);
void tr_left(struct tstate *ts, const struct ip_block *b, const struct ip_point *point);
/* Words of the run under way that only the runtime can tell (IP_XS_ADDRESSES). */
void tr_some(const struct tstate *ts, const struct ip_exit *x);
/* With IP_C_TRACE_EVENTS, a record of what happens; else nothing. */
void tr_signal(struct tstate *ts, int sig, u64 pc, u64 sp);
void tr_sigreturn(struct tstate *ts);
void tr_syscall(struct tstate *ts, long nr, const u64 args[6]);
void tr_sysret(struct tstate *ts, long nr, long result);

/* A record of n words. */
void tr_event(struct tstate *ts, u32 kind, u32 n, const u64 *words);
/* Around all that reads or changes what the thread has recorded or counted, outside of translated code.  False: the
 * process ends, and another thread does it; or it has ended, and this is a child on its memory that outlives it, whose
 * records and counts nobody wants. */
bool tr_settle_begin(struct tstate *ts);
void tr_settle_end(struct tstate *ts);
/* The process ends, and others are at rest or in the runtime: from now on only this thread settles, for all. */
void tr_settle_for_all(struct tstate *ts);
/* In a forked child: its threads settle for themselves.  True: there was one that did for all. */
bool tr_settle_forked(void);
/* Hand over what there is. */
void tr_flush(struct tstate *ts);
/* us since 1970. */
u64 tr_time(void);

/* Of a run's head: the number of completed instructions. */
static inline u32 tr_completed(u64 head) { return (uint16_t)(head >> 32); }

/* The number of words that follow it. */
static inline u32 tr_words(u64 head) { return (u32)(head >> 56); }

static inline const struct ip_tr_insn *tr_insns(const struct ip_tr_block *t) {
    return (const struct ip_tr_insn *)(t + 1);
}
static inline const struct ip_tr_access *tr_accesses(const struct ip_tr_block *t) {
    return (const struct ip_tr_access *)(tr_insns(t) + t->n_insns);
}

#endif
