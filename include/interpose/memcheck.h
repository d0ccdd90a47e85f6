/* Requests to memcheck.  Bytes are "addressable" or not, and their bits "defined" or not. */
#ifndef INTERPOSE_MEMCHECK_H
#define INTERPOSE_MEMCHECK_H

#include "interpose.h"
#include "memcheck_numbers.h"

/* State of the bytes at [addr, addr + len); -1 under memcheck, 0 elsewhere. */
#define INTERPOSE_MAKE_MEM_NOACCESS(addr, len)                                                                         \
    INTERPOSE_REQUEST(0, INTERPOSE_RQ_MC_MAKE_MEM_NOACCESS, addr, len, 0, 0, 0)
#define INTERPOSE_MAKE_MEM_UNDEFINED(addr, len)                                                                        \
    INTERPOSE_REQUEST(0, INTERPOSE_RQ_MC_MAKE_MEM_UNDEFINED, addr, len, 0, 0, 0)
#define INTERPOSE_MAKE_MEM_DEFINED(addr, len) INTERPOSE_REQUEST(0, INTERPOSE_RQ_MC_MAKE_MEM_DEFINED, addr, len, 0, 0, 0)
#define INTERPOSE_MAKE_MEM_DEFINED_IF_ADDRESSABLE(addr, len)                                                           \
    INTERPOSE_REQUEST(0, INTERPOSE_RQ_MC_MAKE_MEM_DEFINED_IF_ADDRESSABLE, addr, len, 0, 0, 0)

/* A name for a range, used in reports; the result is its number, for DISCARD. */
#define INTERPOSE_CREATE_BLOCK(addr, len, description)                                                                 \
    INTERPOSE_REQUEST(0, INTERPOSE_RQ_MC_CREATE_BLOCK, addr, len, description, 0, 0)
#define INTERPOSE_DISCARD(number) INTERPOSE_REQUEST(0, INTERPOSE_RQ_MC_DISCARD, 0, number, 0, 0, 0)

/* 0, or the first bad address, which is reported. */
#define INTERPOSE_CHECK_MEM_IS_ADDRESSABLE(addr, len)                                                                  \
    INTERPOSE_REQUEST(0, INTERPOSE_RQ_MC_CHECK_MEM_IS_ADDRESSABLE, addr, len, 0, 0, 0)
#define INTERPOSE_CHECK_MEM_IS_DEFINED(addr, len)                                                                      \
    INTERPOSE_REQUEST(0, INTERPOSE_RQ_MC_CHECK_MEM_IS_DEFINED, addr, len, 0, 0, 0)
#define INTERPOSE_CHECK_VALUE_IS_DEFINED(lvalue)                                                                       \
    INTERPOSE_REQUEST(0, INTERPOSE_RQ_MC_CHECK_MEM_IS_DEFINED, &(lvalue), sizeof(lvalue), 0, 0, 0)

/* A search for leaks now: in full, or only what is new, changed, grown; or a summary. */
#define INTERPOSE_DO_LEAK_CHECK         INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_MC_DO_LEAK_CHECK, 0, 0, 0, 0, 0)
#define INTERPOSE_DO_ADDED_LEAK_CHECK   INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_MC_DO_LEAK_CHECK, 0, 1, 0, 0, 0)
#define INTERPOSE_DO_CHANGED_LEAK_CHECK INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_MC_DO_LEAK_CHECK, 0, 2, 0, 0, 0)
#define INTERPOSE_DO_NEW_LEAK_CHECK     INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_MC_DO_LEAK_CHECK, 0, 3, 0, 0, 0)
#define INTERPOSE_DO_QUICK_LEAK_CHECK   INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_MC_DO_LEAK_CHECK, 1, 0, 0, 0, 0)

/* Figures of the last search into four variables of type unsigned long. */
#define INTERPOSE_COUNT_(code, leaked, dubious, reachable, suppressed)                                                 \
    do {                                                                                                               \
        unsigned long interpose_counts_[4] = {0, 0, 0, 0};                                                             \
        INTERPOSE_REQUEST_STMT(code, &interpose_counts_[0], &interpose_counts_[1], &interpose_counts_[2],              \
                               &interpose_counts_[3], 0);                                                              \
        (leaked) = interpose_counts_[0];                                                                               \
        (dubious) = interpose_counts_[1];                                                                              \
        (reachable) = interpose_counts_[2];                                                                            \
        (suppressed) = interpose_counts_[3];                                                                           \
    } while (0)
#define INTERPOSE_COUNT_LEAKS(leaked, dubious, reachable, suppressed)                                                  \
    INTERPOSE_COUNT_(INTERPOSE_RQ_MC_COUNT_LEAKS, leaked, dubious, reachable, suppressed)
#define INTERPOSE_COUNT_LEAK_BLOCKS(leaked, dubious, reachable, suppressed)                                            \
    INTERPOSE_COUNT_(INTERPOSE_RQ_MC_COUNT_LEAK_BLOCKS, leaked, dubious, reachable, suppressed)

/* Definedness, a bit for a bit (1 = undefined): 1 if done, 3 if some byte is not addressable, 0 natively. */
#define INTERPOSE_GET_VBITS(src, vbits, n) INTERPOSE_REQUEST(0, INTERPOSE_RQ_MC_GET_VBITS, src, vbits, n, 0, 0)
#define INTERPOSE_SET_VBITS(dst, vbits, n) INTERPOSE_REQUEST(0, INTERPOSE_RQ_MC_SET_VBITS, dst, vbits, n, 0, 0)

/* No errors about addresses in [addr, addr + len), and again; 1 if done. */
#define INTERPOSE_DISABLE_ADDR_ERROR_REPORTING_IN_RANGE(addr, len)                                                     \
    INTERPOSE_REQUEST(0, INTERPOSE_RQ_MC_DISABLE_ADDR_ERROR_REPORTING_IN_RANGE, addr, len, 0, 0, 0)
#define INTERPOSE_ENABLE_ADDR_ERROR_REPORTING_IN_RANGE(addr, len)                                                      \
    INTERPOSE_REQUEST(0, INTERPOSE_RQ_MC_ENABLE_ADDR_ERROR_REPORTING_IN_RANGE, addr, len, 0, 0, 0)

/* The other spelling, unless its own header came first (see spelling.h). */
#ifndef __MEMCHECK_H
#define __MEMCHECK_H

enum {
    VG_USERREQ__MAKE_MEM_NOACCESS = INTERPOSE_RQ_MC_MAKE_MEM_NOACCESS,
    VG_USERREQ__MAKE_MEM_UNDEFINED = INTERPOSE_RQ_MC_MAKE_MEM_UNDEFINED,
    VG_USERREQ__MAKE_MEM_DEFINED = INTERPOSE_RQ_MC_MAKE_MEM_DEFINED,
    VG_USERREQ__DISCARD = INTERPOSE_RQ_MC_DISCARD,
    VG_USERREQ__CHECK_MEM_IS_ADDRESSABLE = INTERPOSE_RQ_MC_CHECK_MEM_IS_ADDRESSABLE,
    VG_USERREQ__CHECK_MEM_IS_DEFINED = INTERPOSE_RQ_MC_CHECK_MEM_IS_DEFINED,
    VG_USERREQ__DO_LEAK_CHECK = INTERPOSE_RQ_MC_DO_LEAK_CHECK,
    VG_USERREQ__COUNT_LEAKS = INTERPOSE_RQ_MC_COUNT_LEAKS,
    VG_USERREQ__GET_VBITS = INTERPOSE_RQ_MC_GET_VBITS,
    VG_USERREQ__SET_VBITS = INTERPOSE_RQ_MC_SET_VBITS,
    VG_USERREQ__CREATE_BLOCK = INTERPOSE_RQ_MC_CREATE_BLOCK,
    VG_USERREQ__MAKE_MEM_DEFINED_IF_ADDRESSABLE = INTERPOSE_RQ_MC_MAKE_MEM_DEFINED_IF_ADDRESSABLE,
    VG_USERREQ__COUNT_LEAK_BLOCKS = INTERPOSE_RQ_MC_COUNT_LEAK_BLOCKS,
    VG_USERREQ__ENABLE_ADDR_ERROR_REPORTING_IN_RANGE = INTERPOSE_RQ_MC_ENABLE_ADDR_ERROR_REPORTING_IN_RANGE,
    VG_USERREQ__DISABLE_ADDR_ERROR_REPORTING_IN_RANGE = INTERPOSE_RQ_MC_DISABLE_ADDR_ERROR_REPORTING_IN_RANGE
};

#define VALGRIND_MAKE_MEM_NOACCESS                     INTERPOSE_MAKE_MEM_NOACCESS
#define VALGRIND_MAKE_MEM_UNDEFINED                    INTERPOSE_MAKE_MEM_UNDEFINED
#define VALGRIND_MAKE_MEM_DEFINED                      INTERPOSE_MAKE_MEM_DEFINED
#define VALGRIND_MAKE_MEM_DEFINED_IF_ADDRESSABLE       INTERPOSE_MAKE_MEM_DEFINED_IF_ADDRESSABLE
#define VALGRIND_CREATE_BLOCK                          INTERPOSE_CREATE_BLOCK
#define VALGRIND_DISCARD                               INTERPOSE_DISCARD
#define VALGRIND_CHECK_MEM_IS_ADDRESSABLE              INTERPOSE_CHECK_MEM_IS_ADDRESSABLE
#define VALGRIND_CHECK_MEM_IS_DEFINED                  INTERPOSE_CHECK_MEM_IS_DEFINED
#define VALGRIND_CHECK_VALUE_IS_DEFINED                INTERPOSE_CHECK_VALUE_IS_DEFINED
#define VALGRIND_DO_LEAK_CHECK                         INTERPOSE_DO_LEAK_CHECK
#define VALGRIND_DO_ADDED_LEAK_CHECK                   INTERPOSE_DO_ADDED_LEAK_CHECK
#define VALGRIND_DO_CHANGED_LEAK_CHECK                 INTERPOSE_DO_CHANGED_LEAK_CHECK
#define VALGRIND_DO_NEW_LEAK_CHECK                     INTERPOSE_DO_NEW_LEAK_CHECK
#define VALGRIND_DO_QUICK_LEAK_CHECK                   INTERPOSE_DO_QUICK_LEAK_CHECK
#define VALGRIND_COUNT_LEAKS                           INTERPOSE_COUNT_LEAKS
#define VALGRIND_COUNT_LEAK_BLOCKS                     INTERPOSE_COUNT_LEAK_BLOCKS
#define VALGRIND_GET_VBITS                             INTERPOSE_GET_VBITS
#define VALGRIND_SET_VBITS                             INTERPOSE_SET_VBITS
#define VALGRIND_DISABLE_ADDR_ERROR_REPORTING_IN_RANGE INTERPOSE_DISABLE_ADDR_ERROR_REPORTING_IN_RANGE
#define VALGRIND_ENABLE_ADDR_ERROR_REPORTING_IN_RANGE  INTERPOSE_ENABLE_ADDR_ERROR_REPORTING_IN_RANGE

#endif
#endif
