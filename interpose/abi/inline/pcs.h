/* Guest pcs of a block's instructions: the translator notes them, the client looks them up. */
#ifndef INTERPOSE_PCS_H
#define INTERPOSE_PCS_H

#include "abi/meta.h"

/* Of instruction n; n == n_insns: behind the last one.  pcs: the tables' array. */
static inline uint64_t ip_pc_of(const uint32_t *pcs, const struct ip_block *b, uint32_t n) {
    const uint32_t *of = pcs + b->pcs;
    return ((uint64_t)of[1] << 32 | of[0]) + (uint64_t)(int64_t)(int32_t)of[IP_PCS_HEAD + n];
}

#endif
