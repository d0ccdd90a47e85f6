/* clzero writes the whole line that RAX lies in (APM volume 3, "CLZERO"), for the translator and the runtime. */
#ifndef INTERPOSE_LINE_H
#define INTERPOSE_LINE_H

#include <stdbool.h>

#include "abi/x86_insn.h"
#include "x86_mnem.h"

enum { IP_LINE = 64 };

static inline bool ip_clears_line(const struct ip_insn *in) { return in->mnem == IP_MN_CLZERO; }
static inline uint64_t ip_line_of(const struct ip_insn *in, uint64_t rax, uint64_t segment_base) {
    return ((in->mem.addr32 ? (uint32_t)rax : rax) + segment_base) & -(uint64_t)IP_LINE;
}

#endif
