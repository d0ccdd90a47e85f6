/* Basic blocks within a run: what --dump-every-bb and "Timerange" count.  A template may go on behind a jump that is
 * not taken, so a run can be several of them, and where that is depends on how the code was translated. */
#ifndef INTERPOSE_CALLGRIND_BLOCKS_H
#define INTERPOSE_CALLGRIND_BLOCKS_H

#include <stdbool.h>

#include "abi/trace.h"

/* Does what follows the instruction begin another one?  Each turn of a repeated instruction is one, too, as in
 * Valgrind. */
static inline bool cg_ends_block(const struct ip_tr_insn *insn) { return insn->kind != IP_TR_PLAIN || insn->rep; }

#endif
