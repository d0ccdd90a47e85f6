/* Where the description of an instruction is: the translator notes it, the client reads it. */
#ifndef INTERPOSE_DESCRIBED_H
#define INTERPOSE_DESCRIBED_H

#include "abi/meta.h"
#include "abi/space.h"
#include "abi/x86_insn.h"

_Static_assert(IP_META_DESCMAX / sizeof(struct ip_insn) < 1u << 24, "ip_exit.kind_aux has room for an index");

/* Client address of the description with an index. */
static inline uint64_t ip_described(uint32_t index) {
    return IP_META_BASE + IP_META_DESC + (uint64_t)index * sizeof(struct ip_insn);
}

#endif
