/* Simulated caches and predictors, and what of a block they need. */
#ifndef INTERPOSE_CALLGRIND_SIMULATE_H
#define INTERPOSE_CALLGRIND_SIMULATE_H

#include "runtime/base/rt.h"
#include "tools/callgrind/client/callgrind.h"

/* ---- First-level caches: set-associative, the least recently used line goes ------------------------------------ */

struct cg_way {
    u64 line; /* number of a line, 0 none */
    u64 used; /* the cache's clock when it was */
};

/* Where a line lies is guessed by its low bits, so that nearly all hits need no search.  A guess may be wrong, but is
 * always some way's. */
#define CG_GUESSES 4096

struct cg_cache {
    u64 sets, clock;
    u32 ways, shift; /* log2 of a line's bytes */
    u16 guess[CG_GUESSES];
    struct cg_way way[]; /* those of a set after each other */
};

static inline struct cg_way *cg_guess(struct cg_cache *c, u64 line) { return &c->way[c->guess[line % CG_GUESSES]]; }

/* ---- Branches ---------------------------------------------------------------------------------------------------- */

#define CG_CONDITIONAL (1u << 14) /* 2-bit counters, by address and history */
#define CG_HISTORY     7          /* branches that the history remembers */
#define CG_INDIRECT    512        /* last targets, by address */

struct cg_sim {
    struct cg_cache *i1, *d1;
    u64 i_line;  /* that of the instruction fetched last: none of i1 was used later */
    u32 history; /* the last conditional branches, newest in bit 0 */
    u8 conditional[CG_CONDITIONAL];
    u64 indirect[CG_INDIRECT];
    struct cg_place *places; /* by the block's number */
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

enum cg_address { CG_BASE, CG_INDEXED, CG_OTHER /* see the template's access */ };

struct cg_access {
    i64 disp;
    u16 base, index; /* words of the record */
    u8 scale, kind;  /* log2; enum cg_address */
    u16 more;        /* bytes after the first */
};

/* A run that has completed so many instructions. */
struct cg_exit {
    u64 ir_dr, dw_bc; /* instructions and reads, writes and branches: the first of each pair in the high half */
    u16 n_accesses;   /* of cg_plan.accesses */
    u16 n_branches;   /* that were passed */
    u16 n_lines;      /* of instructions; of cg_plan.lines */
    u8 taken,
        special; /* it ends with a branch that is not the block's last; it is not a matter of these numbers alone */
};

struct cg_plan {
    const struct ip_tr_block *block;
    const struct cg_access *accesses;
    const u16 *templates; /* of each access, its number in the template */
    const u32 *branches;  /* of each branch, its part of the place in its table */
    const u64 *lines;     /* in the order in which they are fetched */
    struct cg_costs *costs;
    bool locks; /* --collect-bus, and there is something to count */
    struct cg_exit exits[];
};

/* A block, in the context that it ran in last. */
struct cg_place {
    struct cg_context *context; /* 0: runs are not to be counted in the loop */
    struct cg_counter *counter;
    const struct cg_plan *plan;
    const struct cg_access *accesses;
    const u32 *branches;
    u64 line; /* of the first instruction */
    u64 target;
    u16 step;       /* words of a record */
    u16 n;          /* instructions */
    u16 end_branch; /* the number of the branch that ends it */
    u8 end;         /* enum ip_tr_end */
    u8 leaves;      /* its end may leave the context */
};
_Static_assert(sizeof(struct cg_place) == 64, "a line of the cache");

struct cg_sim *cg_sim_of(struct thread *t);
/* plan.c */
const struct cg_plan *cg_plan_of(struct thread *t, const struct ip_tr_block *b);
bool cg_is_locked(const struct ip_tr_insn *insn);

/* simulate.c */
u64 cg_address(const struct thread *t, const struct ip_tr_access *a, const u64 *words);
/* The words are those of a run's record; c is of its block. */
void cg_simulate(struct thread *t, const struct cg_plan *p, struct cg_counter *c, const u64 *words, u64 done);
/* An access that was not found where it was guessed, or lies in two lines: the first level's clock after it. */
u64 cg_data(struct thread *t, const struct cg_plan *p, struct cg_counter *c, u64 access, u64 addr, u64 clock);
/* What the way from the last block to this one says about the last one's branch. */
void cg_settle(struct thread *t, const struct ip_tr_block *b);

#endif
