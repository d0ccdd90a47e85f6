/* What callgrind counts in the client, as the supervisor reads it.  cffi reads this file, too.
 *
 * Every thread has its own tables, which only it writes and nobody ever clears: the supervisor takes what they hold at
 * a dump and subtracts what they held at the one before.  Pointers are addresses of the client's memory, in chunks. */
#ifndef INTERPOSE_CALLGRIND_ABI_H
#define INTERPOSE_CALLGRIND_ABI_H

#include <stdint.h>

#include "abi/count.h"
#include "abi/trace.h"

/* ---- Functions ------------------------------------------------------------------------------
 * The number that a template has of its function: an index and what is to be done about the function. */
#define CG_F_INDEX       0x003fffff
#define CG_F_SKIP        0x00400000 /* its cost is its caller's: --fn-skip, procedure linkage table */
#define CG_F_POP_ON_JUMP 0x00800000 /* leaving it by a jump ends it */
#define CG_F_TOGGLE      0x01000000 /* --toggle-collect */
#define CG_F_DUMP_BEFORE 0x02000000
#define CG_F_DUMP_AFTER  0x04000000
#define CG_F_ZERO_BEFORE 0x08000000
#define CG_F_UNKNOWN     0x10000000 /* code of an object that no symbol names; the index is the object's */
#define CG_F_SPECIAL     0x20000000 /* contexts or recursions of a depth of its own: INTERPOSE_RQ_CT_FUNCTION */
#define CG_F_LINKAGE     0x40000000 /* with CG_F_UNKNOWN: linkage table whose entries are functions (--skip-plt=no) */
#define CG_F_EVENTFUL    (CG_F_TOGGLE | CG_F_DUMP_BEFORE | CG_F_DUMP_AFTER | CG_F_ZERO_BEFORE)

#define CG_MAX_EVENTS 24
#define CG_LEVELS     8 /* of recursion that runs are counted in line for, at most */

/* Events by their place in a cost; cg_options.place has where each is, or -1. */
enum cg_event {
    CG_IR,
    CG_DR,
    CG_DW,
    CG_I1MR,
    CG_D1MR,
    CG_D1MW,
    CG_ILMR,
    CG_DLMR,
    CG_DLMW,
    CG_ILDMR, /* write-back of a dirty line: --simulate-wb */
    CG_DLDMR,
    CG_DLDMW,
    CG_ACCOST1, /* --cacheuse */
    CG_SPLOSS1,
    CG_ACCOST2,
    CG_SPLOSS2,
    CG_BC,
    CG_BCM,
    CG_BI,
    CG_BIM,
    CG_GE,
    CG_SYSCOUNT,
    CG_SYSTIME,
    CG_SYSCPUTIME,
    CG_N_EVENTS
};

struct cg_geometry {
    uint32_t size, ways, line, pad;
};

/* The answer to INTERPOSE_RQ_CT_OPTIONS. */
struct cg_options {
    int32_t place[24]; /* by enum cg_event */
    uint32_t n_events;
    uint32_t callers, recursions; /* --separate-callers, --separate-recs */
    uint32_t jumps, skip_direct_recursion;
    uint32_t caches, branches, write_back, prefetch;
    uint32_t instrument, collect; /* at the start */
    uint32_t systime;             /* 0 none, else nanoseconds of a unit */
    uint64_t dump_every;
    struct cg_geometry i1, d1, ll;
};

/* The answer to INTERPOSE_RQ_CT_FUNCTION. */
struct cg_function_options {
    uint32_t callers, recursions;
};

/* ---- Tables ------------------------------------------------------------------------------------- */

struct cg_chunk {
    struct cg_chunk *next;
    uint64_t bytes, used; /* of the whole, this header included */
};

struct cg_counter;
struct cg_family;

/* A function, in one thread.  Code that no symbol names belongs to the function that is called by its address. */
struct cg_function {
    struct cg_function *next; /* of the same hash */
    uint32_t number;          /* of the template; CG_F_UNKNOWN: with the object */
    uint32_t callers, recursions, pad;
    uint64_t entry;   /* where it was first called, or the address that names it */
    uint32_t *active; /* calls of it that are under way; in a place of its own, because it changes with each */
    struct cg_family *families;
};

/* A function and its callers, as far as contexts tell them apart. */
struct cg_family {
    struct cg_family *next; /* of the function */
    struct cg_function *function;
    struct cg_family *caller; /* 0: none, or not told apart */
    uint32_t room, depth;
    struct cg_context **contexts; /* by recursion level, or 0: none yet; room of them */
};

/* Code without a name by the number of its part (IP_CT_BLOCK with it). */
struct cg_part {
    struct cg_part *next; /* of the context */
    uint32_t where, pad;
};

/* Where costs are counted: a family at a recursion level; or a skipped function, whose cost belongs to the call. */
struct cg_context {
    struct cg_context *next; /* of the thread */
    struct cg_family *family;
    struct cg_context *caller; /* of a skipped function: who has the cost, at the address site; else 0 */
    uint64_t site;
    struct cg_counter *counters;
    uint32_t level, number;
    /* Runs counted in line: where the counters of every block of its function are, as if of word 0, and the value of
     * tstate.ct_where; base 0: none has been there.  Of parts of other functions: a table of its own, and which parts
     * have been there; 0: each block's counters are with its struct cg_counter. */
    uint64_t base, apart;
    struct cg_part *parts;
    uint32_t where, function;
};

/* Calls, or with CG_JUMP jumps, from one instruction to one place.  cost[0] of a repeated string instruction's jump to
 * itself: how often it was followed. */
struct cg_call {
    struct cg_call *next; /* of the block's */
    struct cg_context *callee;
    struct cg_function *function;
    uint64_t entry;
    uint32_t insn, flags;
    uint64_t count;
    uint64_t cost[1]; /* n_events of them */
};
#define CG_JUMP 1

/* What follows from how often an instruction was completed, and what is counted for a branch, in which order. */
struct cg_cost {
    uint16_t insn;
    uint8_t place, n; /* the event, by its place in a cost; how many of it each time */
};

struct cg_costs {
    uint32_t n_fixed, n_branches;
    struct cg_cost cost[1]; /* n_fixed, by instruction; then n_branches, whose numbers are in cg_counter.missed */
};

/* Runs of a block in a context. */
struct cg_counter {
    struct cg_counter *next; /* of the context */
    struct cg_context *context;
    const struct ip_tr_block *block;
    struct cg_context *after; /* the context, if the block's end cannot leave it; else odd bits or 2 */
    struct cg_call *calls;
    const struct cg_costs *costs; /* or 0: none but instructions */
    uint64_t *missed;             /* of each branch of costs, how often it was not predicted */
    uint64_t *extra;              /* n_events for each instruction: what does not follow from runs; or 0 */
    uint64_t *counts;             /* runs counted in line: the template's n_words; or 0 */
    uint64_t taken;               /* how often the jump at its end was taken; kept with cg_options.jumps */
    uint32_t n, repeats;          /* instructions; some of them are repeated string instructions */
    uint64_t runs[1];             /* by the number of instructions that they completed: n + 1 of them */
};

/* A call under way: a struct ip_ct_frame (count.h). */
struct cg_frame {
    struct cg_context *context; /* of the caller */
    struct cg_counter *counter; /* of the call */
    struct cg_context *own;     /* runs counted in line: what runs in the frame */
    uint64_t last_sp;           /* of a handler: thread.sp where it began */
    struct cg_call *call;       /* 0: of a handler; CG_QUICK: only its costs are there */
    uint32_t flags, insn;
    uint64_t sp;      /* RSP before the call: whoever has at least that has left the callee */
    uint32_t *active; /* of the function that is active once less after it; 0: none is */
    /* Runs counted in line, as in struct ip_ct_frame. */
    uint64_t base;
    uint32_t where, block;
    uint64_t began[1]; /* n_events: the thread's total at the call */
};
#define CG_TAIL    1 /* by a jump: ends with its caller */
#define CG_SKIP    2
#define CG_SIGNAL  4 /* a handler: no call of what it interrupts */
#define CG_INNER   IP_CT_F_INNER
#define CG_TOGGLE  32 /* collecting is switched at the call, and again at the end; of a handler: it was on before */
#define CG_PLAIN   64 /* records of runs: its end is a matter of costs alone */
#define CG_UNSEEN  16 /* nothing was collected at the call: it counts if something is before its end */
#define CG_QUICK   IP_CT_F_QUICK
#define CG_SETTLED 0x200 /* runs counted in line: context, counter, insn and own are right */

struct cg_thread {
    struct cg_thread *next;
    uint32_t tid, frame_bytes;
    struct cg_chunk *chunks;
    struct cg_context *contexts, *context;
    uint8_t *frames; /* frame_bytes each; before the first one is what runs outside of all */
    uint64_t depth;
    uint64_t n_blocks; /* basic blocks so far, where --dump-every-bb counts them */
    uint64_t ts; /* runs counted in line: the thread's state, which has its total, newest frame and context; or 0 */
    uint64_t *levels[8]; /* the same: counters of functions with a name, by recursion level; or 0 */
    uint64_t total[24];
};

/* A way that a thread has gone before, for assembly: from the end of a block to the beginning of one, in a context.
 * Struct thread has a table of them. */
struct cg_pair {
    uint32_t from, block; /* who has left, or the frame; template */
    uint64_t key;         /* ct_base there */
    struct cg_context *to;
    struct cg_call *call;
    struct cg_counter *counter;
    uint32_t *active;
    uint64_t base;
    uint32_t where;
    uint16_t insn;
    uint8_t flags, level;
};
#define CG_P_FRAME     3    /* of cg_frame.flags: CG_TAIL, CG_SKIP */
#define CG_P_STAY      16   /* no call */
#define CG_P_ABOVE     32   /* the level is that of all above it, too */
#define CG_PAIRS_LEAST 4096 /* the table grows */
#define CG_PAIRS_MOST  262144

/* IP_SYM_TOOL. */
struct cg_root {
    struct cg_thread *threads;
    uint32_t instrument, pad;
};

#endif
