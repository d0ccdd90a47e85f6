/* Runs of blocks counted in line (IP_C_COUNT), by context: what translated code does in place of a record (trace.h,
 * docs/tracing.md).  cffi parses this file.
 *
 * A template has n_words counters from first_word on: how often the block was entered, and how often it was left by
 * each jcc in its middle, in their order.  They lie at tstate.ct_base + 8 * first_word.  A run also adds its
 * instructions to one of tstate.ct_total.
 *
 * A block is counted where tstate.ct_where says that it is: the number of its function, or, in code without a name,
 * IP_CT_BLOCK with the number of the part that it lies in (ip_trace_parts_add).  Where the function's number has a bit
 * of IP_CT_APART and there are no parts, it is IP_CT_BLOCK with the template's address.  Else it goes to IP_SYM_ARRIVE
 * first.  Calls and returns make ct_where IP_CT_NOWHERE; they, indirect jumps, and direct ones into another function,
 * leave their template in ct_from, and how many instructions they completed if they are not the block's last. */
#ifndef INTERPOSE_ABI_COUNT_H
#define INTERPOSE_ABI_COUNT_H

#define IP_CT_APART   0x10400000 /* bits of a function's number (ip_trace_functions_add) */
#define IP_CT_BLOCK   0x80000000
#define IP_CT_PARTS   0x01000000 /* numbers of parts are less */
#define IP_CT_UNNAMED 0x10000000 /* bit of a function's number: its ranges have parts */
#define IP_CT_NOWHERE 0xffffffff
/* What a block leaves in ct_from is its template's address and one of these. */
#define IP_CT_KIND     3
#define IP_CT_JUMP     0 /* direct */
#define IP_CT_CALL     1
#define IP_CT_INDIRECT 2 /* jump */
#define IP_CT_RETURN   3
/* Sums of instructions that make up the thread's: one alone would make each block wait for the one before. */
#define IP_CT_TOTALS 4
/* More words than all templates can have. */
#define IP_CT_MAX_WORDS 0x100000

#endif
