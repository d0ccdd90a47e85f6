/* Runs of blocks counted in line (IP_C_COUNT), by context: what translated code does in place of a record (trace.h,
 * docs/tracing.md).  cffi parses this file.
 *
 * A template has n_words words from first_word on: how often the block was entered; how often it was left by each jcc
 * in its middle, in their order; at active_word, where a function begins, how many calls of it are under way; at
 * site_word, of a block that ends with a call, a struct ip_ct_site.  They lie at tstate.ct_base + 8 * first_word.  A
 * run also adds its instructions to one of tstate.ct_total.
 *
 * A block is counted where tstate.ct_where says that it is: the number of its function, or, in code without a name,
 * IP_CT_BLOCK with the number of the part that it lies in (ip_trace_parts_add).  Where the function's number has a bit
 * of IP_CT_APART and there are no parts, it is IP_CT_BLOCK with the template's address.  Else it arrives: calls and
 * returns that are known go on at once (emit_count.c), all others go to IP_SYM_ARRIVE.
 *
 * A call leaves IP_CT_CALLED with the word of its site in ct_where, a return IP_CT_RETURNED with an eighth of its
 * template's offset.  Indirect jumps, and direct ones into another function, leave their template in ct_from, and how
 * many instructions they completed if they are not the block's last; so do calls that have no site, with
 * IP_CT_NOWHERE.  Nobody takes ct_from back: it has a meaning only where a block has arrived. */
#ifndef INTERPOSE_ABI_COUNT_H
#define INTERPOSE_ABI_COUNT_H

#include <stdint.h>

#define IP_CT_APART    0x10400000 /* bits of a function's number (ip_trace_functions_add) */
#define IP_CT_LINK     0x00400000 /* of them: code that only leads on to a function */
#define IP_CT_BLOCK    0x80000000
#define IP_CT_PARTS    0x01000000 /* numbers of parts are less */
#define IP_CT_UNNAMED  0x10000000 /* bit of a function's number: its ranges have parts */
#define IP_CT_NOWHERE  0xffffffff
#define IP_CT_ASKED    0xfffffffe /* from outside: whatever runs is to arrive */
#define IP_CT_RETURNED 0x90000000
#define IP_CT_CALLED   0x40000000
#define IP_CT_TAILED   0x40200000 /* IP_CT_CALLED + IP_CT_MAX_WORDS */
/* What a block leaves in ct_from is its template's address and one of these (JUMP, INDIRECT and CALL; IP_CT_RETURN is
 * for who keeps it). */
#define IP_CT_KIND     3
#define IP_CT_JUMP     0 /* direct */
#define IP_CT_CALL     1
#define IP_CT_INDIRECT 2 /* jump */
#define IP_CT_RETURN   3
/* Sums of instructions that make up the thread's: one alone would make each block wait for the one before. */
#define IP_CT_TOTALS 4
/* More words than all templates can have. */
#define IP_CT_WORD_BITS 21
#define IP_CT_MAX_WORDS (1 << IP_CT_WORD_BITS)

/* Bits of tstate.ct_slow.  With either, every arrival is one for C, and ct_limit is 0. */
#define IP_CT_FROZEN 1 /* nothing counts, so ct_total does not either */
#define IP_CT_LOOK   2 /* there is something for C to look at: a run that ended early, a wish from outside */

/* Calls from one place, at one level of recursion of the caller.  C makes the callee known, and from then on translated
 * code counts calls of it. */
struct ip_ct_site {
    uint32_t where;  /* of the function called, */
    uint32_t callee; /* template that it begins with, 0: none is known */
    uint32_t active; /* and its word that counts the calls under way */
    uint32_t link;   /* template of IP_CT_LINK that the call goes through, 0: none is known */
    struct {
        uint64_t count, cost;
    } at[2];             /* by the callee's level of recursion */
    uint64_t link_insns; /* instructions of link that have run; not where the call is of a function for sure */
};
#define IP_CT_SITE_WORDS 7

/* A call under way.  The tool's fields stand around those that translated code fills in. */
struct ip_ct_frame {
    uint64_t tool[4];
    uint64_t call;   /* where the call is counted: the count is IP_CT_COUNT bytes on, the cost behind it */
    uint32_t flags;  /* IP_CT_F_QUICK, or the tool's */
    uint32_t insn;   /* the tool's */
    uint64_t sp;     /* RSP before the call: whoever has at least that has left the callee */
    uint64_t active; /* counts calls of the function that are under way, 32 bits */
    uint64_t base;   /* ct_base of what runs in the frame, */
    uint32_t where;  /* and its ct_where, or IP_CT_NOWHERE: its next block arrives */
    uint32_t block;  /* template that it began with */
    uint64_t began;  /* the thread's total at the call */
};
#define IP_CT_COUNT   40
#define IP_CT_F_INNER 8     /* with IP_CT_F_QUICK: the function is at its second level of recursion */
#define IP_CT_F_QUICK 0x100 /* pushed by translated code: call is at[level] of a struct ip_ct_site - IP_CT_COUNT */
#define IP_CT_F_ENDS  0x30b /* a return ends frames that have no flag but these at once */

#endif
