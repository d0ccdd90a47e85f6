/* Datagrind in the program: from the records of what a thread runs (abi/trace.h) to those of the file.
 *
 * Each thread turns its own records into runs, in a buffer of its own; whatever a run refers to (block definitions,
 * contexts) is defined once for the file, under one lock, in a buffer that goes to the file before any thread's.
 */
#ifndef INTERPOSE_DATAGRIND_CLIENT_H
#define INTERPOSE_DATAGRIND_CLIENT_H

#include "tools/datagrind/datagrind_abi.h"
#include "trace/trace.h"

/* Ids of records in the file; those that the viewer's side writes itself (header, objects) are not here. */
enum dg_record {
    DG_TRACK_RANGE = 3,
    DG_UNTRACK_RANGE = 4,
    DG_START_EVENT = 5,
    DG_END_EVENT = 6,
    DG_MALLOC_BLOCK = 9,
    DG_FREE_BLOCK = 10,
    DG_BBDEF = 11,
    DG_BBRUN = 12,
    DG_CONTEXT = 13
};

/* What the client adds to a thread's records (IP_TR_TOOL and up). */
enum dg_event {
    DG_EV_MALLOC = IP_TR_TOOL, /* address, size */
    DG_EV_FREE,                /* address */
    DG_EV_TRACK,               /* address, length, type, label */
    DG_EV_UNTRACK,             /* address, length */
    DG_EV_START,               /* label */
    DG_EV_END,                 /* label */
    DG_EV_SIGNAL,              /* pc that was interrupted, RSP that was, the handler's RSP */
    DG_EV_SIGRETURN            /* RSP that a handler returned to */
};
#define DG_TEXT_MAX   64 /* bytes of a label */
#define DG_TEXT_WORDS 9  /* with its NUL */

#define DG_ITEMS    255 /* of a definition: instructions, accesses */
#define DG_STACK    255 /* addresses of a context, the block's included */
#define DG_HEAP_IPS 8
#define DG_PART     128u /* a longer access is shown in parts: its size has one byte */
#define DG_NO_WORD  0xffff
/* Addresses are written so many at once, some of them in vain. */
#define DG_AT_ONCE   4
#define DG_RUN_BYTES (12 + 8 + (DG_ITEMS + DG_AT_ONCE) * 8) /* the longest run */

/* How an address is computed from a record's words.  Without a base or an index: word 0, times 0. */
struct dg_operand {
    i64 disp;
    u16 base, index;
    u8 base_scale, index_scale;
    u8 flags, pad;
};
#define DG_OP_FS  1
#define DG_OP_GS  2
#define DG_OP_BIT 4
#define DG_OP_32  8

/* A part of a template that has a definition of its own. */
struct dg_segment {
    u32 bbdef;    /* its number in the file of dg_plan.file */
    u32 first_op; /* in the plan's operands */
    u16 first;    /* instruction */
    u16 n_insns;
    u16 n_ops; /* of a repeated instruction: of one iteration */
    u16 rep;   /* index of its words, or DG_NO_WORD */
    bool rep_alone;
    bool simple; /* no operand has a flag */
};

struct dg_plan {
    const struct ip_tr_block *block;
    u64 pc, next; /* the block's */
    u32 file;     /* dg.file when it was defined */
    u32 sp_word;
    i64 sp_disp;
    u16 n_segments, n_words, n_insns;
    u8 end; /* enum ip_tr_end */
    u8 pad;
    struct dg_operand *ops;
    u16 *insn_of;  /* of each operand: number of the instruction */
    u16 *ops_upto; /* of each instruction: operands of it and of those before */
    u8 *sizes, *writes;
    struct dg_segment segments[];
};

struct dg_frame {
    u64 slot;        /* address of the return address, or the handler's RSP */
    u64 ret;         /* where it goes on */
    u64 interrupted; /* RSP that a handler interrupted, else 0 */
    u64 caller;      /* dg_thread.stack of who called */
};

/* A context that this thread has met. */
struct dg_seen {
    u64 stack;
    u32 bbdef, context;
};
#define DG_WAYS 4
#define DG_SETS 16384u

struct dg_thread {
    u8 *out, *out_begin, *out_limit; /* runs; at the limit there is still room for one */
    struct dg_seen *last;            /* by bbdef: the one that it ran in last; empty: no context */
    struct dg_seen *seen;            /* DG_SETS of DG_WAYS, newest first */
    struct dg_frame *frames;
    u64 fs, gs;
    u64 pc;    /* of the block that ran last */
    u64 stack; /* what tells call stacks apart (stacks.c) */
    u32 n_frames, cap_frames;
    u32 n_handlers; /* frames of handlers */
    u32 cap_last;
    u32 file; /* dg.file that its contexts are of */
    bool live;
    const struct tstate *ts; /* whose it is while it is live */
};

struct dg_state {
    rt_lock_t lock; /* of all that follows, and of what is called under it */
    u32 file;       /* counts forks: what is defined in one file is not in another */
    u32 n_bbdefs;
    u64 n_contexts;
    bool stopped; /* nothing more can be written */
};
extern struct dg_state dg;

/* consume.c */
void dg_emit_all(void); /* of every thread; the others are at rest */
struct dg_thread *dg_thread(const struct tstate *ts);
void dg_thread_begin(struct tstate *ts);
void dg_thread_end(struct tstate *ts);
void dg_threads_after_fork(struct tstate *ts);
bool dg_has_threads(void); /* more than one */

/* stacks.c */
void dg_stacks_start(void);
void dg_stack_new(struct dg_thread *t);
void dg_call(struct dg_thread *t, u64 ret, u64 slot);
void dg_handler(struct dg_thread *t, u64 pc, u64 interrupted, u64 sp);
void dg_handler_returned(struct dg_thread *t, u64 sp);
void dg_drop_handlers(struct dg_thread *t, u64 sp);
void dg_drop(struct dg_thread *t, u64 sp);
u32 dg_callers(const struct dg_thread *t, u64 *ips, u32 most); /* innermost first; how many */
u64 dg_context(struct dg_thread *t, u32 bbdef, u64 pc);        /* its number, defined if need be */
void dg_forget_contexts(struct dg_thread *t);

/* plans.c: the entry of a template; the rest under the lock */
void dg_plans_start(void);
extern struct dg_plan **dg_plans; /* by the address of the template: templates begin at least this far apart */
#define DG_APART 64
static inline struct dg_plan **dg_plan_entry(u64 block) {
    return &dg_plans[(block - IP_META_BASE - IP_META_TRACE) / DG_APART];
}
struct dg_plan *dg_plan_make(const struct ip_tr_block *b);
void dg_plan_define(struct dg_plan *p);

/* output.c */
u8 *dg_head(u8 *to, u32 type, u64 length);
u8 *dg_definition(u32 type, u64 length); /* where its payload goes, behind all others; under the lock */
void dg_emit(struct dg_thread *t);       /* its runs, behind all definitions */
void dg_send(void);                      /* all that was emitted, to the supervisor */
void dg_output_after_fork(void);

#endif
