/* A copy of callgrind's tables in the client becomes rows of costs, calls and jumps, summed up over threads and sorted.
 *
 * Rows keep their order and their numbers of contexts from one taking to the next, so that what was counted between
 * two is a matter of subtraction. */
#ifndef INTERPOSE_CALLGRIND_COLLECT_H
#define INTERPOSE_CALLGRIND_COLLECT_H

#include <stdint.h>

/* A context: the number of its function (CG_F_*), for code without a symbol the address that names it, its recursion
 * level, and the number of the context of its caller, 0 none. */
struct cg_name {
    uint64_t entry;
    uint32_t function, level, caller, pad;
};

enum cg_kind { CG_COST, CG_CALLS, CG_JUMPS, CG_COND_JUMPS };

/* In context, at pc.  Calls: of callee at its address target, count times; jumps: to target, count executed, followed
 * of them taken.  The costs come behind: n_events words. */
struct cg_row {
    uint64_t pc, target, count, followed;
    uint32_t context, kind, callee, pad;
};

struct cg_taken {
    uint64_t n_rows, row_bytes, n_names;
    uint8_t *rows; /* struct cg_row and n_events words each */
    struct cg_name *names;
    uint64_t n_blocks; /* basic blocks that have run */
};

/* Read what thread tid (0: every one) has counted through the descriptor mem of the client's memory, from the struct
 * cg_root at root; pagemap is that of its /proc/PID/pagemap, or -1.  names stay those of before, with new ones behind.
 * 0, or -1: no memory, or the client has none. */
int cg_take(struct cg_taken *t, int mem, int pagemap, uint64_t root, uint32_t n_events, uint32_t tid, int jumps);
/* rows become those of now without those of before, rows of nothing left out. */
void cg_subtract(struct cg_taken *now, const struct cg_taken *before, uint32_t n_events);
/* now takes over what before knows of contexts. */
int cg_inherit(struct cg_taken *now, const struct cg_taken *before);
/* Costs of all rows, summed up. */
void cg_totals(const struct cg_taken *t, uint32_t n_events, uint64_t *totals);
/* A copy of the rows alone. */
uint8_t *cg_copy_rows(const struct cg_taken *t);
void cg_release(struct cg_taken *t);
/* Thread numbers that have counted something: how many, at most max of them written. */
uint64_t cg_threads(int mem, uint64_t root, uint32_t *tids, uint64_t max);
/* Threads that count in line look at once whether they should go on counting: through mem, open for both. */
void cg_look_up(int mem, uint64_t root);
/* Calls under way in thread tid: the frames from the outermost on, as rows (context: the function that is called; pc:
 * where it begins; count: of these calls so far), at most max.  costs: n_events words for each, of these calls so far.
 */
uint64_t cg_frames(int mem, uint64_t root, uint32_t n_events, uint32_t tid, struct cg_taken *names, struct cg_row *rows,
                   uint64_t *costs, uint64_t max);

#endif
