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
#define DG_CALLERS  (DG_STACK - 1)
#define DG_HEAP_IPS 8
#define DG_PART     128u /* a longer access is shown in parts: its size has one byte */
#define DG_NO_WORD  0xffff
/* Addresses are written so many at once, some of them in vain. */
#define DG_AT_ONCE   4
#define DG_RUN_BYTES (12 + 8 + (DG_ITEMS + DG_AT_ONCE) * 8) /* the longest run */
#define DG_OUT       DG_PIECE                               /* a thread's buffer */

/* An address is disp + w[base] + (w[index] << shift): w[0] is 0, w[1] the record's first word. */
struct dg_operand {
    i64 disp;
    u8 base, index, shift;
    u8 flags;
    u32 pad;
};
#define DG_OP_FS   1
#define DG_OP_GS   2
#define DG_OP_BIT  4 /* w[index] counts bits, in 1 << shift bytes */
#define DG_OP_32   8
#define DG_OP_BYTE 16 /* of w[index] the low byte */

/* A part of a template that has a definition of its own, where not all of it may share one. */
struct dg_segment {
    u32 first_op; /* in the plan's operands */
    u16 first;    /* instruction */
    u16 n_insns;
    u16 n_ops; /* of a repeated instruction: of one iteration */
    u16 rep;   /* index of its words, or DG_NO_WORD */
    bool rep_alone;
    bool some; /* one instruction, whose accesses are not all made in each run (IP_TRA_MAYBE) */
};

struct dg_plan {
    const struct ip_tr_block *block;
    u64 pc, next; /* the block's */
    u64 lo, hi;   /* its instructions */
    u32 sp_word;
    i64 sp_disp;
    u16 n_segments, n_words, n_insns;
    u16 n_special; /* operands with a flag */
    u16 n_plain;   /* of the operands, the first ones: each is the word that has its number */
    u8 end;        /* enum ip_tr_end */
    struct dg_operand *ops;
    u16 *special;
    u16 *insn_of;  /* of each operand: number of the instruction */
    u16 *ops_upto; /* of each instruction: operands of it and of those before */
    u8 *sizes, *writes;
    struct dg_segment segments[];
};

/* A context that this thread has met. */
struct dg_seen {
    u64 stack;
    u32 bbdef, context;
};
#define DG_WAYS 4

/* A definition in the file, and contexts that the thread has run it in: each has one place, so that a look at it is all
 * that most runs need. */
struct dg_def {
    struct dg_seen *recent; /* by the low bits of the stack's number; at first those below */
    u32 mask, bbdef;
    union {
        const struct dg_node *leaf; /* whose path it is, with all of the last block */
        struct dg_some *some;       /* of a segment that is some: nothing else but these */
    };
    u64 missed; /* contexts that are known, but were not there */
    struct dg_seen first[2];
} __attribute__((aligned(64)));

/* Such an instruction with those accesses that a run has made. */
struct dg_some {
    struct dg_def def;
    u64 made; /* a bit each; if they are all alike, the lowest ones */
    struct dg_some *next;
};

/* A path: blocks that followed one another under one call stack, the last of them perhaps left early (paths.c).  What
 * every run reads is one line of the cache. */
struct dg_node {
    u64 head;              /* the record's of the last block */
    u64 next_head;         /* next->head, or 0 */
    struct dg_node *next;  /* the path that it was continued to the last time */
    u64 after_head;        /* after->head, or 0 */
    struct dg_node *after; /* the block that the next path began with, the last time that this one ended */
    struct dg_def *def;
    u16 n_ops;   /* what its last block adds */
    u16 insns;   /* of the path */
    u16 special; /* 0; DG_SPECIAL: its last block's operands have flags; or that of one alone, that its
                    segment is FS, and 1 + its number */
    u8 end;      /* enum ip_tr_end, of the last block */
    u8 sp_word;  /* w[sp_word] + sp_disp is RSP there, if it leaves */
    int32_t sp_disp;
    bool plain;  /* but for those with a flag, its last block's operands are its first words */
    bool leaves; /* the block's end may change the call stack */
    bool wide;   /* of a block alone: its paths' runs have a long head, lately */
    bool whole;  /* one definition may have it */
    /* In the next line, what is read where a path turns: */
    struct dg_node *child, *sibling, *parent;
    u64 missed;         /* head of a block that might continue it */
    u32 credit;         /* bytes that this would have spared */
    u16 n_insns;        /* what its last block adds */
    u16 accesses;       /* of the path */
    u64 ret, ret_mixed; /* behind the last block */
    /* Seldom: */
    const struct dg_plan *plan;   /* the last block's */
    const struct dg_operand *ops; /* its */
    u64 lo, hi;                   /* the path's instructions */
    struct dg_def *defs;          /* of the plan's segments, if it is not whole */
} __attribute__((aligned(64)));

#define DG_SPECIAL 0xffff

struct dg_frame {
    u64 slot;        /* address of the return address, or the handler's RSP */
    u64 ret;         /* where it goes on */
    u64 interrupted; /* RSP that a handler interrupted, else 0 */
    u64 caller;      /* dg_thread.stack of who called */
};

/* A root in its place by its head. */
struct dg_root_seen {
    u64 head;
    struct dg_node *root;
};

struct dg_thread {
    u8 *out, *out_limit;    /* the next run, NULL: nowhere yet; at the limit there is still room for one */
    u8 *out_begin;          /* of what was not handed over */
    u8 *copied;             /* memory of its own, for a thread that has no piece */
    u32 owner;              /* place in dg_mailbox.unqueued, 0: it has no piece */
    struct dg_node **roots; /* by template, like dg_plans: paths of one block, linked by sibling */
    struct dg_root_seen *known_roots;
    struct dg_piece *pieces; /* memory of paths */
    u8 *room, *room_end;     /* in the newest piece */
    struct dg_node *ended;   /* the path that has ended last, or none */
    struct dg_node none;
    struct dg_seen *seen; /* sets of DG_WAYS, newest first */
    struct dg_frame *frames;
    u32 *handlers; /* places in frames of those of handlers */
    u64 fs, gs;
    const struct ip_tr_block *newest; /* the block that ran last */
    u64 stack;                        /* what tells call stacks apart (stacks.c) */
    u32 n_frames, cap_frames;
    u32 n_handlers, cap_handlers;
    u32 n_sets, evicted;
    u32 n_nodes;
    u32 recent_bytes; /* of definitions with many contexts */
    u32 file;         /* dg.file that its contexts are of */
    u64 code;         /* dg.code that they are of */
    bool live;
    const struct tstate *ts; /* whose it is while it is live */
};

struct dg_state {
    rt_lock_t lock; /* of all that follows, and of what is called under it */
    u32 file;       /* counts forks: what is defined in one file is not in another */
    u32 n_bbdefs;
    u64 n_contexts;
    u64 code;     /* how often code has gone, whose addresses may be others' now */
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

/* stacks.c, frames.h */
void dg_stacks_start(void);
void dg_stack_new(struct dg_thread *t);
void dg_stack_renew(struct dg_thread *t, u64 code); /* code has gone */
bool dg_more_frames(struct dg_thread *t);           /* room for one more; false: there are too many */
void dg_handler(struct dg_thread *t, u64 pc, u64 interrupted, u64 sp);
void dg_handler_returned(struct dg_thread *t, u64 sp);
void dg_drop_handlers(struct dg_thread *t, u64 sp);
u32 dg_callers(const struct dg_thread *t, u64 *ips, u32 most); /* innermost first; how many */

/* contexts.c */
/* The number of a definition's context in this call stack that is not in its place there, or DG_UNKNOWN. */
#define DG_UNKNOWN (~0ull)
u64 dg_known_context(struct dg_thread *t, struct dg_def *d);
u64 dg_new_context(struct dg_thread *t, struct dg_def *d, u64 pc); /* its number */
void dg_forget_contexts(struct dg_thread *t);

/* paths.c */
struct dg_node *dg_root(struct dg_thread *t, u64 head);
/* The path goes on with this block: the longer path, or NULL: it ends here. */
struct dg_node *dg_turn(struct dg_thread *t, struct dg_node *n, u64 head);
struct dg_def *dg_define(struct dg_thread *t, struct dg_node *n);
/* Of the root's segment, of which these accesses (dg_some.made) are made. */
struct dg_def *dg_some_def(struct dg_thread *t, struct dg_node *n, u32 segment, u64 made);
void dg_forget_paths(struct dg_thread *t);
void *dg_room(struct dg_thread *t, u64 bytes, u64 align); /* for as long as paths are not forgotten; NULL: too much */

/* plans.c */
#define DG_APART     64 /* templates begin at least this far apart */
#define DG_TEMPLATES (IP_TRACE_MAX / DG_APART)
static inline u64 dg_template(u64 head) { return ((u32)head - IP_TRACE_BASE) / DG_APART; }
void dg_plans_start(void);
const struct dg_plan *dg_plan(u32 block);
void dg_plan_define(const struct dg_plan *p, struct dg_def *defs); /* its segments; under the lock */
u32 dg_plan_define_some(const struct dg_plan *p, const struct dg_segment *s, u64 made); /* the same of one of them */
/* Which of the accesses of the segment the operand is a part of: the bit of dg_some.made. */
static inline u64 dg_part_of(const struct dg_plan *p, const struct dg_segment *s, u32 op) {
    return 1ull << (p->ops[op].base - p->ops[s->first_op].base);
}
/* Does an instruction that follows another one belong to its function?  Unless that is known, it does if it is next. */
static inline bool dg_same_function(const struct ip_tr_insn *a, const struct ip_tr_insn *b) {
    return a->pc + a->len == b->pc || (a->function && a->function == b->function);
}

/* output.c */
u8 *dg_head(u8 *to, u32 type, u64 length);
/* Under the lock: where a definition's payload goes. */
u8 *dg_definition(u32 type, u64 length);
void dg_definitions_put(void);
void dg_begin(struct dg_thread *t);        /* it has somewhere to write to */
void dg_filled(const struct dg_thread *t); /* what it has written shall not be lost if the program is killed */
void dg_emit(struct dg_thread *t);         /* what it has written comes next */
void dg_end(struct dg_thread *t);          /* and it writes no more */
void dg_send(void);                        /* all that was emitted goes to the file now */
void dg_output_after_fork(void);

static inline void dg_lock(void) { rt_lock(&dg.lock); }
static inline void dg_unlock(void) {
    dg_definitions_put();
    rt_unlock(&dg.lock);
}

#endif
