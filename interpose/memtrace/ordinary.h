/* Skips records of a trace that are as they must be, for the checker, which looks at the others one by one.  cffi
 * parses this file.
 */
#ifndef INTERPOSE_ORDINARY_H
#define INTERPOSE_ORDINARY_H

#include <stdint.h>

#include "formats/drmemtrace/reader.h"

enum ip_mt_effect { IP_MTO_KNOWN = 1, IP_MTO_TARGET = 2, IP_MTO_SYSCALL = 4, IP_MTO_REPEATS = 8 };

struct ip_mt_effects {            /* of an instruction, as its code says */
    uint64_t target;              /* of a relative jump or call */
    uint32_t reads[2], writes[2]; /* at least, at most */
    uint32_t flags, pad;
};

struct ip_mt_ordinary {
    const struct ip_mt_effects *effects; /* by index of the encoding */
    uint64_t n_effects;
    uint64_t limit;                  /* instructions of a chunk, 0: any number */
    uint32_t has_data, has_syscalls; /* the trace has accesses; markers of system calls */
    /* where it is */
    uint64_t instructions, in_chunk;
    uint64_t expected[2];                          /* where the next instruction may be */
    uint32_t n_expected;                           /* 0: not said */
    uint32_t counts_data, wants_syscall, function; /* as the checker has them */
    uint64_t reads, writes;                        /* of the last instruction */
    struct ip_mt_effects last;
    uint64_t last_pc, last_size;
    uint64_t last_at; /* index of the newest instruction of this call + 1 */
};

/* The number of the first record that is not ordinary, n: none. */
uint64_t ip_mt_ordinary(struct ip_mt_ordinary *o, const struct ip_mt_record *records, uint64_t n);

#endif
