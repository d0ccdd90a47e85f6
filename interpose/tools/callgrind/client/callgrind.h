/* Callgrind in the client: what the parts of this folder share. */
#ifndef INTERPOSE_CALLGRIND_H
#define INTERPOSE_CALLGRIND_H

#include "runtime/base/rt.h"
#include "tools/callgrind/callgrind_abi.h"
#include "trace/trace.h"

/* What is known of a block in the context that it last ran in, by the block's number. */
struct cg_slot {
    struct cg_context *context; /* CG_SLOW set: runs are not to be counted in line */
    struct cg_counter *counter;
    struct cg_function *function; /* 0: not known yet, or not by a symbol */
    u32 step, pad;                /* words of a record */
};
#define CG_SLOW 1ull
/* Of cg_counter.after: by an indirect jump, which may leave the context. */
#define CG_JUMPS 4ull

struct cg_sim;
#define CG_LEFT  32
#define CG_APART 512 /* contexts that have a table of their own at most */

/* A thread, with what the supervisor does not read. */
struct thread {
    struct cg_thread shared;
    struct tstate *ts;
    struct cg_slot *slots;
    struct cg_counter **counters; /* hash of (context, block) */
    struct cg_function **functions;
    u64 n_counters, counters_size, functions_size, frames_room;
    struct cg_counter *last; /* the block that ran last, 0: none */
    u64 done;                /* and the instructions that it completed */
    u64 sp;                  /* RSP before its last instruction, of calls, returns and indirect jumps */
    bool collects, pad;
    u32 n_contexts;
    struct cg_sim *sim; /* simulate.h */
    u64 fs, gs;         /* bases of segments */
    u64 syscall_began, syscall_cpu;
    /* Runs counted in line (count.c). */
    struct cg_pair *pairs;
    u64 n_pairs, lost_pairs;
    u64 *sink;    /* counters that nobody reads */
    u32 *callers; /* by word: the template whose site is there; those up to next_caller in the meta memory are in it */
    u64 next_caller;
    u64 frozen; /* the total while nothing is collected */
    u32 nobody; /* active calls of what frames have that are no call of a function */
    struct cg_call *nothing;
    struct cg_left {
        const struct ip_tr_block *block;
        struct cg_context *context;      /* or 0: that of */
        const struct ip_tr_block *began; /* this function at */
        u64 level, done;
    } left[CG_LEFT]; /* runs that ended early */
    u32 n_left, n_actives, n_apart;
    u32 *actives;
};

extern struct cg_options cg;
extern struct cg_root cg_root;

static inline int cg_place(enum cg_event e) { return cg.place[e]; }

/* tables.c */
struct thread *cg_thread_of(struct tstate *ts);
void *cg_alloc(struct thread *t, u64 bytes);
struct cg_counter *cg_counter_of(struct thread *t, const struct ip_tr_block *b);
/* b: the block that it begins with, where runs are counted in line and the function is not known yet; or 0. */
struct cg_function *cg_function_of(struct thread *t, u32 number, u64 entry, const struct ip_tr_block *b);
struct cg_family *cg_family_of(struct thread *t, struct cg_function *f, struct cg_family *caller);
struct cg_context *cg_context_of(struct thread *t, struct cg_family *f);
struct cg_context *cg_context_at(struct thread *t, struct cg_family *f, u64 level);
struct cg_context *cg_new_context(struct thread *t, struct cg_family *f);
struct cg_frame *cg_push_frame(struct thread *t);
u64 *cg_extra(struct thread *t, struct cg_counter *c, u64 insn);
/* The frame of a depth, from 1 on. */
static inline struct cg_frame *cg_frame_at(const struct thread *t, u64 depth) {
    return (struct cg_frame *)(t->shared.frames + (depth - 1) * t->shared.frame_bytes);
}
static inline struct cg_frame *cg_top(struct thread *t) { return cg_frame_at(t, t->shared.depth); }
/* The highest level of recursion that the function's calls are told apart by. */
static inline u64 cg_last_level(const struct cg_function *f) { return f->recursions - 1; }
/* The level that its next call has. */
static inline u64 cg_next_level(const struct cg_function *f) {
    u64 last = cg_last_level(f);
    return *f->active < last ? *f->active : last;
}

/* Does the context of its next call follow from that of the call and from its level? */
static inline bool cg_knows_context(const struct cg_function *f) { return f->callers <= cg.callers || f->callers < 2; }
static inline bool cg_is_unknown(const struct cg_function *f) { return !f->number || f->number & CG_F_UNKNOWN; }
/* Does the block belong to the function that runs? */
static inline bool cg_is_within(const struct cg_context *x, const struct ip_tr_block *b) {
    return x->family->function->number == b->function;
}

/* calls.c: the block that follows t->last; from then on t->shared.context is where it runs. */
/* A record of calls or jumps from an instruction of the block, added to the block's. */
struct cg_call *cg_new_call(struct thread *t, struct cg_counter *c, struct cg_call what);
void cg_enter(struct thread *t, const struct ip_tr_block *b);
void cg_jumped(struct thread *t, const struct ip_tr_block *b);
/* A jump that has gone through code that only leads on.  It may call the function that jumps, and no jump comes back
 * from what it calls as from a part of the function put elsewhere. */
void cg_led(struct thread *t, const struct ip_tr_block *b);
void cg_unwind(struct thread *t);
void cg_signal(struct thread *t, u64 sp);
void cg_sigreturn(struct thread *t);

/* Held across a fork: tables.c, the list of threads; simulate.c, the cache that they share. */
void cg_threads_fork_lock(bool lock);
void cg_threads_forked(const struct tstate *ts); /* in the child */
void cg_last_level_fork_lock(bool lock);
/* The lines of all caches. */
void cg_forget_lines(void);

/* count.c: runs are counted in line, not recorded. */
static inline bool cg_in_line(void) { return (rt.flags & IP_C_COUNT) != 0; }
void cg_arrive(struct tstate *ts, const struct ip_tr_block *b);
bool cg_compares(const struct ip_tr_insn *insn);
/* Of a repeated string instruction, with the words that it has in a record. */
bool cg_ended_by_flag(const struct ip_tr_insn *insn, const u64 *words);
u64 cg_more_insns(const struct ip_tr_insn *insn, const u64 *words);
void cg_turned(struct tstate *ts, const struct ip_tr_block *b, u64 insn);
void cg_line_begin(struct tstate *ts);
void cg_line_end(struct tstate *ts);
/* In the child: of another thread, whose state will be a new one's. */
void cg_line_forked(struct thread *t);
void cg_line_left(struct tstate *ts, const struct ip_block *b, const struct ip_point *point);
void cg_line_signal(struct tstate *ts, u64 sp);
void cg_line_sigreturn(struct tstate *ts);
void cg_line_leaving(struct tstate *ts, bool for_exec);
void cg_line_collect(struct tstate *ts, bool on);
/* Instrumentation has been switched, or may have been. */
void cg_line_poll(struct tstate *ts);
/* The block arrives, and what the thread runs from now on is not to be counted, nor its calls looked at. */
void cg_line_unwanted(struct tstate *ts, const struct ip_tr_block *b);
/* Nor was what it ran up to now; what follows is. */
void cg_line_anew(struct tstate *ts);

/* hooks.c: ask the supervisor for a dump (number of the function that it is for), or to forget the costs so far. */
void cg_ask_dump(struct thread *t, u32 why, u32 function);
/* Is what runs to be counted?  If not, the thread's calls have ended. */
bool cg_counts(struct tstate *ts);
void cg_function_options(struct thread *t, u32 number, struct cg_function_options *o);

#endif
