/* The translator's own memory: at one place in the program's process and in its supervisor's (IP_XLT_BASE), so that
 * either can translate and what one has written leads the other to the same. */
#ifndef INTERPOSE_JIT_MEMORY_H
#define INTERPOSE_JIT_MEMORY_H

#include "jit/emit.h"
#include "jit/keep.h"
#include "jit/trace.h"

#define HUGE_PAGE (2u << 20)

struct tt_memory {
    struct transtab table;
    struct keeping keeping;
    /* Of the block under way. */
    struct ublock ub[3];
    struct ip_insn insn[UB_MAX_INSN];
    struct emitted emitted;
    struct em work;
    /* By block, exit and record; pages are touched as they are used. */
    uint32_t xrec_of[IP_META_EXITMAX];
    struct xrec xrec[2 * IP_META_EXITMAX];
    struct brec brec[IP_META_BLKMAX];
    uint64_t block_pages[BLOCK_PAGES_MOST];
    uint32_t note[IP_META_BLKMAX];
    uint8_t piece[KEEP_PIECE];
    uint64_t waits[KEEP_BITS / 64];
    struct code_copy copies[CODE_COPIES], copies_here[CODE_COPIES_HERE];
    uint8_t copy_bytes_here[CODE_COPIES_HERE * CODE_UNIT_HERE];
    uint8_t heap[TT_HEAP]; /* tt_alloc's */
    /* Of tools that trace. */
    struct tracing tracing;
    struct ip_tr_known known[2u << KNOWN_MOST]; /* tables of all sizes, KNOWN_TABLE */
    struct ip_tr_range ranges[IP_TR_MAX_RANGES];
    uint8_t scratch[TRACE_SCRATCH];
};
_Static_assert(sizeof(struct tt_memory) <= IP_XLT_MAX, "room at IP_XLT_BASE");
_Static_assert(IP_CHAN_BYTES == IP_CHAN_SLOTS + IP_SLOTS * IP_SLOT_SIZE && IP_CHAN_BYTES % 4096 == 0,
               "behind the slots");
_Static_assert(IP_XLT_MAX <= IP_XLT_META - IP_XLT_BASE && IP_META_MAX <= IP_XLT_CACHE - IP_XLT_META &&
                   IP_CACHE_MAX <= IP_XLT_END - IP_XLT_CACHE && IP_XLT_CACHE % HUGE_PAGE == 0,
               "views beside one another, that of the cache where huge pages can be");

#endif
