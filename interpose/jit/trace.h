/* Templates of blocks for tools that trace (abi/trace.h), and the stage 3 that such tools share. */
#pragma once
#include "abi/trace.h"
#include "jit/ucode.h"

/* Stage 3: a record of the block's run, and the registers that its accesses are formed of. */
void ip_trace_pass(const struct ublock *in, struct ublock *out, uint64_t flags);
/* Where templates go, with a count of what is there; NULL: nowhere. */
void ip_trace_area(struct ip_meta *meta, uint8_t *area);
/* The function that pc belongs to, 0: none. */
uint32_t ip_trace_function(uint64_t pc);
/* Does a function begin there? */
bool ip_trace_begins(uint64_t pc);
/* The part of code without a name that pc lies in, and where it begins; 0: none. */
uint32_t ip_trace_part(uint64_t pc, uint64_t *begin);
/* constants.c: registers that hold what the block's bytes say, behind the instruction. */
uint16_t ip_constants_after(uint16_t known, const struct ip_insn *in);
/* Do the two belong to different functions, or parts of code without a name? */
bool ip_trace_apart(uint64_t pc, uint64_t home);
