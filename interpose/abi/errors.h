/* Errors of the program: their kinds, the record of one, and the table of those met so far.  cffi parses this file. */
#ifndef INTERPOSE_ABI_ERRORS_H
#define INTERPOSE_ABI_ERRORS_H

#include <stdint.h>

/* The shadow's and the heap's; those of a tool alone begin with IP_E_TOOL, in a header of its own. */
enum ip_errkind {
    IP_E_NONE,
    IP_E_READ,
    IP_E_WRITE,
    IP_E_JUMP,
    IP_E_VALUE,
    IP_E_COND,
    IP_E_FREE,
    IP_E_MISMATCH,
    IP_E_FISHY,
    IP_E_REALLOC_ZERO,
    IP_E_ALIGN,
    IP_E_SIZE_ALIGN,
    IP_E_SIZE_MISMATCH,
    IP_E_ALIGN_MISMATCH,
    IP_E_POOL,
    IP_E_UNSAFE_ZERO,
    IP_E_TOOL = 32
};

/* In slot.data, with IP_R_ERROR. */
struct ip_error {
    uint32_t kind; /* enum ip_errkind, or the tool's */
    uint32_t size; /* access size, 0 if none; a read's: see the instruction (aux[0]: for the address, too) */
    uint64_t addr; /* faulting address */
    uint64_t pc;   /* guest pc of the instruction */
    uint64_t sp;
    uint64_t aux[4]; /* kind-specific: src,dst,len; argument value; ... */
    uint32_t otag;   /* origin, 0 = unknown */
    uint32_t n_frames;
    uint64_t frames[512]; /* frames[0] = pc; then return addresses */
    uint8_t text[256];    /* syscall param name, function name, ... */
};

#define IP_ORIGIN_SHIFT     29       /* otag: kind (shadow/origin.h) << this | number of a recorded stack */
#define IP_ERROR_FRAMES     4        /* of a stack that tell two errors apart, as long as there are few errors */
#define IP_ERROR_FRAMES_ALL 12       /* where frames are merged or hidden before they are compared */
#define IP_FRAMES_OF_CALL   2        /* and of a system call's so many more: the C library's, for cancellation */
#define IP_ERRORS_MOST      10000000 /* found in all, with --error-limit=yes */
struct ip_err_slot {
    uint64_t hash;  /* 0 = empty */
    uint64_t count; /* times met, the first included */
    uint32_t index; /* 1, 2, ... in order of first occurrence */
    uint32_t kind;  /* as ip_error.kind */
};
struct ip_err_table { /* chan.rt_symbols[IP_SYM_STATS] */
    uint32_t version, n_errors;
    uint64_t total;
    uint64_t outdated; /* the supervisor counts it up: addresses mean something else from here on */
    uint64_t capacity; /* slots; the table grows */
    uint64_t slots;    /* address of the first */
};
/* ip_error.aux[3] of IP_R_ERROR: index of the error in ip_err_table; aux[2]:
 * index of the heap block that the address is in or near, 0 if none. */

#endif
