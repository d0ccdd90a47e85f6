/* Elements of gathers and scatters (an instruction with mem.vsib), for the translator and the runtime. */
#ifndef INTERPOSE_SPARSE_H
#define INTERPOSE_SPARSE_H

#include "abi/x86_insn.h"

/* Bytes of an index: in all of them the opcode's last bit tells. */
static inline unsigned ip_index_size(const struct ip_insn *in) { return in->opcode & 1 ? 8 : 4; }

/* As many as there is room for on both sides. */
static inline unsigned ip_n_elements(const struct ip_insn *in) {
    unsigned vector = in->ops[0].kind == IP_OP_MEM ? 1 : 0; /* a scatter's memory comes first */
    unsigned n = in->ops[vector].size / in->mem.size, by_index = in->mem.vsib / ip_index_size(in);
    return by_index < n ? by_index : n;
}

#endif
