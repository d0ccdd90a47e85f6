/* What a taking of callgrind's tables goes by (collect.c), and what was counted in line of it (counted.c). */
#ifndef INTERPOSE_CALLGRIND_TAKING_H
#define INTERPOSE_CALLGRIND_TAKING_H

#include <stddef.h>
#include <stdint.h>

#include "abi/tstate.h"
#include "jit/system.h"
#include "collect.h"
#include "tools/callgrind/callgrind_abi.h"

/* ---- The client's memory ------------------------------------------------------------------- */

struct piece {
    uint64_t at, bytes;
    uint8_t *copy;
    int is_shared; /* not a copy: templates are the translator's own */
};

struct counted {
    const struct ip_tr_block *block;
    const struct ip_tr_insn *insn;
    uint64_t first_word;
};

struct memory {
    struct piece *pieces;
    size_t n, room, last;
    uint64_t template_bytes, words; /* of all templates */
    struct counted *blocks;         /* those of which runs are counted in line, if any are */
    uint64_t n_blocks;
    /* Costs of calls under way that lie with their sites (count.h). */
    struct late {
        uint64_t at, cost;
    } *late;
    size_t n_late, room_late;
    const struct counted **placed; /* those of parts; NULL: not asked for yet */
    size_t n_placed;
    int pagemap;            /* of the client, or -1 */
    uint64_t *table;        /* of a context, zero where it is not being looked at */
    struct ip_range *spans; /* its words that were ever touched */
};

int cg_read_all(int mem, void *to, uint64_t bytes, uint64_t from);
/* The copy of bytes at an address, NULL if they were not copied: the program may go on while it is read. */
void *cg_at(struct memory *m, const void *client, uint64_t bytes);

/* ---- What it becomes ------------------------------------------------------------------------- */

struct names {
    struct cg_taken *t;
    uint64_t room, hash_size;
    uint32_t *hash; /* index + 1 */
};

/* The number of a name, from 1 on; 0: no memory. */
uint32_t cg_name_number(struct names *n, struct cg_name name);

struct sink {
    struct cg_taken *t;
    uint64_t room;
    uint32_t n_events;
    int failed;
};

/* A row's costs, all 0; NULL: no memory, and the sink knows. */
uint64_t *cg_add_row(struct sink *s, struct cg_row row);

/* ---- Runs counted in line (abi/count.h) ------------------------------------------------------- */

/* By the number of instructions that they completed: added to runs. */
void cg_unfold(const uint64_t *counts, const struct ip_tr_block *b, const struct ip_tr_insn *insn, uint64_t *runs);
uint64_t cg_inner_blocks(const struct ip_tr_insn *insn, uint32_t n, const uint64_t *reached);
/* A name of what begins with the block. */
struct cg_name cg_name_of(const struct ip_tr_block *b, uint32_t level);
int cg_find_blocks(struct memory *m);
/* Costs of functions by level of recursion; of a context's parts of other functions. */
int cg_add_levels(struct sink *s, struct names *n, struct memory *m, int mem, const struct cg_thread *t);
void cg_add_apart(struct sink *s, struct names *n, struct memory *m, int mem, uint32_t context,
                  const struct cg_context *x);
/* A call under way has cost so much, which is to be added at this address; then all are sorted. */
int cg_add_late(struct memory *m, uint64_t at, uint64_t cost);
void cg_sort_late(struct memory *m);

#endif
