/* Templates of blocks for tools that trace (abi/trace.h), and the stage 3 that such tools share. */
#pragma once
#include "abi/trace.h"
#include "jit/ucode.h"

struct ip_meta;

/* Open addressing.  The hash lies beside, for a template that is looked at is in no cache. */
struct ip_tr_known {
    uint32_t at; /* offset + 1 of a template, 0: unused */
    uint32_t hash;
};
#define KNOWN_LEAST 14 /* the first table has 2^14 places */
#define KNOWN_MOST  21
/* The one of 2^level places lies behind all that are smaller. */
#define KNOWN_TABLE(known, level) ((known) + (1u << (level)))

/* Of code: whose it is, in ascending order. */
struct ip_tr_range {
    uint64_t lo, hi;
    uint32_t function;
    uint32_t part; /* of code without a name; 0: none */
};

/* What the stage knows beside the block: in memory that the program's process and the supervisor share, so that either
 * can make templates. */
struct tracing {
    struct ip_meta *meta;
    uint8_t *area; /* of templates; NULL: they go nowhere, stages are only shown */
    /* The state components that there are (XCR0), and their bytes. */
    uint64_t components;
    uint32_t component_size[64];
    struct ip_tr_range *ranges;
    uint64_t n_ranges, room_ranges, last_range;
    uint32_t parts; /* numbers that were given */
    uint32_t known_level;
    struct ip_tr_known *known;
    /* Where calls return to, by a hash of the address: who is taken for one of them by mistake has a stub too long. */
    uint64_t returned_to[1 << 14];
};
/* For the block under way. */
#define TRACE_SCRATCH (64u << 10)

/* Stage 3: a record of the block's run, and the registers that its accesses are formed of. */
void ip_trace_pass(const struct ublock *in, struct ublock *out, uint64_t flags);
/* Where the program has a template like this one, which is laid there if there is none; 0: no room. */
uint32_t ip_trace_keep(struct ip_tr_block *b);
/* The first range that ends behind pc. */
uint64_t ip_trace_range_after(uint64_t pc);
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
