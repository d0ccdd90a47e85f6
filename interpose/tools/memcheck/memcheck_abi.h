/* What memcheck in the client and memcheck in the supervisor say to each other.  cffi reads this file, too. */
#ifndef INTERPOSE_MEMCHECK_ABI_H
#define INTERPOSE_MEMCHECK_ABI_H

#include <stdint.h>

#include "abi/errors.h"

/* Kinds of errors beside those of shadow and heap. */
enum mc_errkind {
    MC_E_PARAM_REG = IP_E_TOOL, /* arguments of system calls */
    MC_E_PARAM_UNADDR,
    MC_E_PARAM_UNDEF,
    MC_E_OVERLAP,
    MC_E_CHECK_UNADDR, /* requests that check memory */
    MC_E_CHECK_UNDEF
};

/* From lo to hi, both included, invalid accesses are not reported: by an option (kind 0) or by request (1). */
struct mc_range {
    uint64_t lo, hi, kind;
};
/* All of them, by address, no two of which overlap. */
struct mc_ranges {
    uint64_t at, count; /* address of the first struct mc_range */
};

/* A block that the program has described. */
struct mc_described {
    uint64_t addr, size; /* size 0: the number is nobody's */
    uint64_t text;       /* address of the description */
    uint32_t text_bytes;
    uint32_t room; /* there, which the number keeps */
    uint32_t ctx;  /* recorded stack, see ip_ctx_table */
};
/* By their numbers. */
struct mc_described_table {
    uint64_t at, count; /* address of number 0 */
};

/* Where the tags of memory are found (shadow/origin_table.h): addresses of origin_places and origin_n_places. */
struct mc_origins {
    uint64_t places, count;
};
/* struct origin_place, and how struct origin_chunk begins; log2 of the bytes that share a tag, and of a chunk's. */
struct mc_origin_place {
    uint64_t number, chunk;
};
struct mc_origin_chunk {
    uint64_t number, tags, owners;
};
enum mc_origin_bits { MC_ORIGIN_GRANULE = 2, MC_ORIGIN_CHUNK = 20 };

/* IP_SYM_TOOL. */
struct mc_root {
    struct mc_ranges ignored;
    struct mc_described_table described;
    struct mc_origins origins;
};

/* Nor from far to near bytes below the stack pointer, nor if they begin at most slack bytes below; 0: nowhere. */
struct mc_below_sp {
    uint64_t far, near, slack;
};

/* The answer to IGNORED_BY_OPTION: ranges that no answer had before; none when all are told. */
struct mc_by_option {
    struct mc_below_sp below_sp;
    uint64_t count;
    struct mc_range ranges[100];
};

#endif
