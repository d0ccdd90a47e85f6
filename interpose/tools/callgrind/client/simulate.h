/* Simulated caches and predictors, and what of a block they need. */
#ifndef INTERPOSE_CALLGRIND_SIMULATE_H
#define INTERPOSE_CALLGRIND_SIMULATE_H

#include "abi/meta.h"
#include "abi/space.h"
#include "runtime/base/rt.h"
#include "tools/callgrind/client/callgrind.h"

/* ---- First-level caches: set-associative, the least recently used line goes ------------------------------------ */

struct cg_way {
    u64 line; /* number of a line, 0 none */
    u64 used; /* the cache's clock when it was */
};

/* Where a line lies is guessed by its low bits, so that nearly all hits need no search.  A guess may be wrong, but is
 * always some way's. */
#define CG_GUESSES 16384

struct cg_cache {
    u64 sets, clock;
    u32 ways, shift; /* log2 of a line's bytes */
    u16 guess[CG_GUESSES];
    struct cg_way way[]; /* those of a set after each other */
};

/* Where a way lies is told in steps of 8 bytes, which is what an x86 address takes. */
static inline struct cg_way *cg_way_at(struct cg_cache *c, u64 place) {
    return (struct cg_way *)((u64 *)c->way + place);
}
static inline u64 cg_place_of(const struct cg_cache *c, const struct cg_way *w) {
    return (u64)((u64 *)w - (u64 *)c->way);
}
static inline struct cg_way *cg_guess(struct cg_cache *c, u64 line) {
    return cg_way_at(c, c->guess[line % CG_GUESSES]);
}

/* ---- Branches ---------------------------------------------------------------------------------------------------- */

#define CG_CONDITIONAL (1u << 14) /* 2-bit counters, by address and history */
#define CG_HISTORY     7          /* branches that the history remembers */
#define CG_INDIRECT    512        /* last targets, by address */
#define CG_KNOWN       4096
#define CG_WANTED      256 /* runs for which code is to be generated */

/* What a counter's block does at its end, if it has called something; beside the counter's cg_counter.missed. */
struct cg_known {
    const struct ip_tr_block *block; /* that is called, 0: none yet */
    struct cg_context *to;
    struct cg_call *call;
    struct cg_counter *from, *counter; /* of the block, of what is called */
    u32 *active;
    u64 *entry;
    u32 level, last_level; /* of recursion: what it is called at, and the highest one */
    u32 flags, sp_word;    /* of the frame; of RSP before the block's last instruction */
    i64 sp_disp;
};

struct cg_place;
typedef struct cg_place *cg_crossing(struct thread *t, struct cg_place *last, const u64 *p, const u64 *last_p);

struct cg_sim {
    /* ORDER (run.S): what generated code begins and ends with. */
    const u64 *p;
    u64 clock;
    u64 history; /* the last conditional branches, newest in bit 0 */
    u64 insns, sum, surprises;
    struct thread *thread;
    struct cg_way *d1_ways, *i1_ways;
    const u64 *last; /* the record before p */
    cg_crossing *crossing;
    /* And what it finds. */
    const struct cg_context *context;
    u64 ignored;
    u64 limit;                  /* RSP from which on the newest frame is left */
    u64 indirects, misdirected; /* of these, which are not yet in the thread's totals */
    u64 from_templates;         /* to their places */
    u64 fs;
    void (*cross)(void), (*slow_data)(void), (*slow_line)(void), (*slow_other)(void);
    struct cg_cache *i1, *d1;
    u64 i_line;             /* that of the instruction fetched last: none of i1 was used later */
    struct cg_usage *usage; /* usage.c */
    bool keeps_last_level;  /* its lock */
    u32 forgotten;          /* as often as cg_forget_lines() had been called */
    u8 conditional[CG_CONDITIONAL];
    u64 indirect[CG_INDIRECT];
    struct cg_place *places; /* by the template's address */
    /* generate.c */
    u8 *area;
    u64 area_used;
    u32 n_areas, n_wanted;
    struct cg_known known[CG_KNOWN]; /* by counter and block, where a block's end calls several */
    struct cg_wanted {
        struct cg_place *at;
        u64 done;
    } wanted[CG_WANTED];
};

/* A conditional branch: was it a surprise?  at: its address's part of the place of its counter. */
static inline u64 cg_predict(u8 *conditional, u64 *history, u32 at, u64 taken) {
    u8 *counter = &conditional[at | *history];
    u64 was = *counter;
    u64 up = taken & (was < 3), down = (taken ^ 1) & (was > 0);
    *counter = (u8)(was + up - down);
    *history = (*history << 1 | taken) & ((1u << CG_HISTORY) - 1);
    return (was >> 1) ^ taken;
}

/* ---- Plans: what a block's run costs, found out once
 * ------------------------------------------------------------------- */

#define CG_MAX_INSNS 64 /* of a block */

enum cg_address { CG_BASE, CG_INDEXED, CG_OTHER /* see the template's access */ };

struct cg_access {
    i64 disp;
    u16 base, index; /* words of the record */
    u8 scale, kind;  /* log2; enum cg_address */
    u16 more;        /* bytes after the first */
};

/* Reads, writes and branches in one word: no buffer has so many runs that one would overflow. */
#define CG_READ          1ull
#define CG_WRITE         (1ull << 21)
#define CG_BRANCH        (1ull << 42)
#define CG_READS(sum)    ((sum) & (CG_WRITE - 1))
#define CG_WRITES(sum)   ((sum) >> 21 & (CG_WRITE - 1))
#define CG_BRANCHES(sum) ((sum) >> 42)
_Static_assert((2ull << IP_TR_FULL_BIT) / 8 * 2 * CG_MAX_INSNS <= CG_WRITE, "that many of each");

/* A run that has completed so many instructions. */
struct cg_exit {
    u64 sum;        /* of what counts for it */
    u16 n_accesses; /* of cg_plan.accesses */
    u16 n_passed;   /* branches, not taken */
    u16 n_lines;    /* of instructions; of cg_plan.lines */
    u8 taken,
        special; /* it ends with a branch that is not the block's last; it is not a matter of these numbers alone */
    u64 code;    /* generated, or cg_settled: there is none */
};

struct cg_line {
    u64 line;
    u32 way;          /* of the first level, that had it: cg_way_at */
    u16 insn, before; /* the first one that is fetched from it; accesses of those before */
};

struct cg_plan {
    const struct ip_tr_block *block;
    const u16 *templates;  /* of each access, its number in the template */
    struct cg_line *lines; /* in the order in which they are fetched */
    struct cg_costs *costs;
    struct cg_function *function; /* that the block begins, if it is called; 0: not known yet */
    bool locks;                   /* --collect-bus, and there is something to count */
    struct cg_exit exits[];
};

/* A block, in the context that it ran in last. */
struct cg_place {
    struct cg_context *context; /* 0: runs are not to be counted in the loop */
    struct cg_counter *counter;
    const struct cg_exit *exits; /* the plan's */
    const struct cg_access *accesses;
    const u32 *branches; /* of each branch, its part of the place in its table */
    u64 pc, target;      /* the block's */
    u16 n;               /* instructions */
    u16 end_branch;      /* the number of the branch that ends it */
    u16 way;             /* of the first level, that had the line of pc: cg_way_at */
    u8 end;              /* enum ip_tr_end */
    u8 leaves;           /* its end may leave the context */
};
_Static_assert(sizeof(struct cg_place) == 64, "a line of the cache");

_Static_assert(offsetof(struct cg_sim, clock) == 8 && offsetof(struct cg_sim, history) == 16 &&
                   offsetof(struct cg_sim, insns) == 24 && offsetof(struct cg_sim, sum) == 32 &&
                   offsetof(struct cg_sim, surprises) == 40 && offsetof(struct cg_sim, thread) == 48 &&
                   offsetof(struct cg_sim, d1_ways) == 56 && offsetof(struct cg_sim, i1_ways) == 64 &&
                   offsetof(struct cg_sim, last) == 72 && offsetof(struct cg_sim, crossing) == 80 &&
                   offsetof(struct cg_place, exits) == 16 && offsetof(struct cg_exit, code) == 16,
               "run.S says so, too");

/* The smallest template is longer than a place. */
#define CG_PLACES (IP_TRACE_MAX / sizeof(struct cg_place))
static inline struct cg_place *cg_place_at(struct cg_place *places, u32 block) {
    return places + (block - IP_TRACE_BASE) / sizeof *places;
}
_Static_assert(sizeof(struct ip_tr_block) + sizeof(struct ip_tr_insn) > sizeof(struct cg_place), "no two at one place");

static inline struct cg_plan *cg_plan_at(const struct cg_place *at) {
    return (struct cg_plan *)((u8 *)at->exits - offsetof(struct cg_plan, exits));
}

static inline struct cg_known *cg_known_of(const struct cg_counter *c) { return (struct cg_known *)c->missed - 1; }

struct cg_sim *cg_sim_of(struct thread *t);
struct cg_cache *cg_make_cache(const struct cg_geometry *g);
/* The way of a line, which is the most recently used from now on: was it there? */
struct cg_way *cg_touch(struct cg_cache *c, u64 line, bool *hit);
/* run.S: what becomes of records from sim->p on, of which the first is a run of the place that has this code.  At
 * sim->p is then a record that is none of those; true: it is a run in the context, what ended before it is settled. */
u64 cg_run(struct cg_sim *sim, const struct cg_place *at, u64 code);
void cg_settled(void);
void cg_slow_cross(void);
void cg_slow_data(void);
void cg_slow_line(void);
void cg_slow_other(void);
/* As it counts: cg_sim.insns. */
#define CG_INSNS_BRANCHES(insns, branches) ((insns) | (branches) << 21)
#define CG_INSNS(both)                     ((both) & ((1u << 21) - 1))
#define CG_BRANCHES_OF(both)               ((both) >> 21)
_Static_assert((2ull << IP_TR_FULL_BIT) / 8 * CG_MAX_INSNS < 1u << 21, "a buffer's");
/* For run.S: the place of p's record, which follows a run of another, if the way there has been gone before. */
struct cg_place *cg_cross(struct thread *t, struct cg_place *last, const u64 *p, const u64 *last_p);
cg_crossing *cg_crossing_of(void); /* cross.c: the same, faster */
void cg_learn(struct thread *t, struct cg_counter *c, struct cg_place *at);
/* The block in the present context. */
struct cg_place *cg_place_block(struct thread *t, const struct ip_tr_block *b);
/* generate.c: code for all that is wanted. */
void cg_generate(struct thread *t);
/* plan.c */
void cg_plan_place(struct thread *t, struct cg_place *at, const struct ip_tr_block *b);

/* simulate.c */
/* usage.c, with --cacheuse: an access, of an instruction of the counter's block: found in the first level (0), the last
 * (1), or none (2).  The lock of the last level is held. */
u32 cg_use(struct thread *t, struct cg_cache *c, struct cg_counter *counter, u64 insn, u64 addr, u64 more);
void cg_use_ends(void);
struct cg_cache *cg_last_used(void); /* its last level, 0: none yet */
void cg_release_last_level(struct thread *t);
/* Where an access of the plan goes. */
u64 cg_other_address(const struct thread *t, const struct cg_place *at, u64 access, const u64 *words);
/* The words are those of a run's record. */
void cg_simulate(struct thread *t, const struct cg_place *at, const u64 *words, u64 done);
/* An access that was not found where it was guessed, or lies in two lines: the first level's clock after it. */
u64 cg_data(struct thread *t, const struct cg_place *at, u64 access, u64 addr, u64 clock);
/* The plan's line of that number, of n that the run is fetched from, is not where it was. */
u64 cg_fetch(struct thread *t, const struct cg_place *at, u64 number, u64 n, u64 clock);
/* An access whose address is found by cg_other_address. */
u64 cg_other(struct thread *t, const struct cg_place *at, u64 access, const u64 *words, u64 clock);
/* What the way from the last block to this one says about the last one's branch. */
void cg_settle(struct thread *t, const struct ip_tr_block *b);

#endif
