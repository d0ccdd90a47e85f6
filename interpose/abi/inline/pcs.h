/* Guest pcs of a block's instructions, packed: the translator notes them, the client looks them up.
 *
 * The first one in 8 bytes; of each other, and of what is behind the last instruction, how far it is from the one
 * before, in a byte, or IP_PCS_FAR and the distance in 4 bytes.
 */
#ifndef INTERPOSE_PCS_H
#define INTERPOSE_PCS_H

#include "abi/meta.h"

static inline uint64_t ip_pcs_first(const uint8_t *at) {
    uint64_t pc = 0;
    for (int i = IP_PCS_HEAD; i--;) pc = pc << 8 | at[i];
    return pc;
}

/* The distance at *at, which goes on behind it. */
static inline uint64_t ip_pcs_step(const uint8_t **at) {
    const uint8_t *p = *at;
    if (*p != IP_PCS_FAR) {
        *at = p + 1;
        return *p;
    }
    *at = p + IP_PCS_MOST;
    return (uint64_t)(int64_t)(int32_t)(p[1] | (uint32_t)p[2] << 8 | (uint32_t)p[3] << 16 | (uint32_t)p[4] << 24);
}

/* Of instruction n; n == n_insns: behind the last one.  pcs: the tables' bytes. */
static inline uint64_t ip_pc_of(const uint8_t *pcs, const struct ip_block *b, uint32_t n) {
    const uint8_t *at = pcs + b->pcs + IP_PCS_HEAD;
    uint64_t pc = ip_pcs_first(pcs + b->pcs);
    while (n--) pc += ip_pcs_step(&at);
    return pc;
}

/* The same to write; both return where to go on. */
static inline uint8_t *ip_pcs_put_first(uint8_t *at, uint64_t pc) {
    for (int i = 0; i < IP_PCS_HEAD; i++) *at++ = (uint8_t)(pc >> 8 * i);
    return at;
}
static inline uint8_t *ip_pcs_put(uint8_t *at, uint64_t before, uint64_t pc) {
    uint64_t distance = pc - before;
    if (distance < IP_PCS_FAR) {
        *at++ = (uint8_t)distance;
        return at;
    }
    *at++ = IP_PCS_FAR;
    for (int i = 0; i < 4; i++) *at++ = (uint8_t)(distance >> 8 * i);
    return at;
}

#endif
