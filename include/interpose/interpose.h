/* What a program may ask of the engine that runs it, and how it wraps functions.
 *
 * For C and C++; nothing has to be linked.  Natively a request costs a few harmless instructions and gives its
 * default, 0 unless said otherwise; with -DNVALGRIND it costs nothing.  Everything has two spellings,
 * INTERPOSE_... and the one that <valgrind/valgrind.h> gives (spelling.h); that header may be included too.
 */
#ifndef INTERPOSE_INTERPOSE_H
#define INTERPOSE_INTERPOSE_H

#include <stdarg.h>

#include "numbers.h"
#include "request.h"
#include "wrap.h"

/* Depth of engines below the program: 0 natively. */
#define RUNNING_ON_INTERPOSE INTERPOSE_REQUEST(0, INTERPOSE_RQ_RUNNING, 0, 0, 0, 0, 0)

/* Code at [addr, addr + len) was rewritten. */
#define INTERPOSE_DISCARD_TRANSLATIONS(addr, len)                                                                      \
    INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_DISCARD_TRANSLATIONS, addr, len, 0, 0, 0)

/* 1 if the tool replaces malloc and its relatives. */
#define INTERPOSE_REPLACES_MALLOC INTERPOSE_REQUEST(0, INTERPOSE_RQ_REPLACES_MALLOC, 0, 0, 0, 0, 0)

/* The tool's name, cut and terminated within len; its length plus one, 0 natively. */
#define INTERPOSE_GET_TOOLNAME(buf, len) INTERPOSE_REQUEST(0, INTERPOSE_RQ_GET_TOOLNAME, buf, len, 0, 0, 0)

/* fn(tid, arguments) called by the engine itself, unwrapped by nothing; its result. */
#define INTERPOSE_NON_SIMD_CALL0(fn)             INTERPOSE_REQUEST(0, INTERPOSE_RQ_CLIENT_CALL0, fn, 0, 0, 0, 0)
#define INTERPOSE_NON_SIMD_CALL1(fn, a1)         INTERPOSE_REQUEST(0, INTERPOSE_RQ_CLIENT_CALL1, fn, a1, 0, 0, 0)
#define INTERPOSE_NON_SIMD_CALL2(fn, a1, a2)     INTERPOSE_REQUEST(0, INTERPOSE_RQ_CLIENT_CALL2, fn, a1, a2, 0, 0)
#define INTERPOSE_NON_SIMD_CALL3(fn, a1, a2, a3) INTERPOSE_REQUEST(0, INTERPOSE_RQ_CLIENT_CALL3, fn, a1, a2, a3, 0)

/* Errors found so far that no suppression hides. */
#define INTERPOSE_COUNT_ERRORS INTERPOSE_REQUEST(0, INTERPOSE_RQ_COUNT_ERRORS, 0, 0, 0, 0, 0)

/* A command to the tool's monitor: 0 if it knows it, 1 if not. */
#define INTERPOSE_MONITOR_COMMAND(command) INTERPOSE_REQUEST(0, INTERPOSE_RQ_GDB_MONITOR_COMMAND, command, 0, 0, 0, 0)

/* Change an option that may change while the program runs. */
#define INTERPOSE_CLO_CHANGE(option) INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_CLO_CHANGE, option, 0, 0, 0, 0)

/* A record with this text in the report for programs (--json-file): what lies before it was found before.  1 if there
 * is such a report. */
#define INTERPOSE_REPORT_MARK(text) INTERPOSE_REQUEST(0, INTERPOSE_RQ_REPORT_MARK, text, 0, 0, 0, 0)

/* Blocks of an allocator of the program's own. */
#define INTERPOSE_MALLOCLIKE_BLOCK(addr, size, redzone, is_zeroed)                                                     \
    INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_MALLOCLIKE_BLOCK, addr, size, redzone, is_zeroed, 0)
#define INTERPOSE_RESIZEINPLACE_BLOCK(addr, old_size, new_size, redzone)                                               \
    INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_RESIZEINPLACE_BLOCK, addr, old_size, new_size, redzone, 0)
#define INTERPOSE_FREELIKE_BLOCK(addr, redzone)                                                                        \
    INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_FREELIKE_BLOCK, addr, redzone, 0, 0, 0)

/* Pools: chunks that come and go together, named by an address. */
#define INTERPOSE_CREATE_MEMPOOL(pool, redzone, is_zeroed)                                                             \
    INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_CREATE_MEMPOOL, pool, redzone, is_zeroed, 0, 0)
#define INTERPOSE_CREATE_MEMPOOL_EXT(pool, redzone, is_zeroed, flags)                                                  \
    INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_CREATE_MEMPOOL, pool, redzone, is_zeroed, flags, 0)
#define INTERPOSE_DESTROY_MEMPOOL(pool) INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_DESTROY_MEMPOOL, pool, 0, 0, 0, 0)
#define INTERPOSE_MEMPOOL_ALLOC(pool, addr, size)                                                                      \
    INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_MEMPOOL_ALLOC, pool, addr, size, 0, 0)
#define INTERPOSE_MEMPOOL_FREE(pool, addr) INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_MEMPOOL_FREE, pool, addr, 0, 0, 0)
#define INTERPOSE_MEMPOOL_TRIM(pool, addr, size)                                                                       \
    INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_MEMPOOL_TRIM, pool, addr, size, 0, 0)
#define INTERPOSE_MOVE_MEMPOOL(pool_a, pool_b)                                                                         \
    INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_MOVE_MEMPOOL, pool_a, pool_b, 0, 0, 0)
#define INTERPOSE_MEMPOOL_CHANGE(pool, addr_a, addr_b, size)                                                           \
    INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_MEMPOOL_CHANGE, pool, addr_a, addr_b, size, 0)
#define INTERPOSE_MEMPOOL_EXISTS(pool) INTERPOSE_REQUEST(0, INTERPOSE_RQ_MEMPOOL_EXISTS, pool, 0, 0, 0, 0)

/* Stacks of the program's own: lo is the lowest addressable byte; the result names the stack. */
#define INTERPOSE_STACK_REGISTER(lo, hi)   INTERPOSE_REQUEST(0, INTERPOSE_RQ_STACK_REGISTER, lo, hi, 0, 0, 0)
#define INTERPOSE_STACK_DEREGISTER(id)     INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_STACK_DEREGISTER, id, 0, 0, 0, 0)
#define INTERPOSE_STACK_CHANGE(id, lo, hi) INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_STACK_CHANGE, id, lo, hi, 0, 0)
#define INTERPOSE_LOAD_PDB_DEBUGINFO(fd, ptr, size, delta)                                                             \
    INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_LOAD_PDB_DEBUGINFO, fd, ptr, size, delta, 0)

/* "file:line" of a code address into 64 bytes, or an empty string. */
#define INTERPOSE_MAP_IP_TO_SRCLOC(addr, buf64)                                                                        \
    INTERPOSE_REQUEST(0, INTERPOSE_RQ_MAP_IP_TO_SRCLOC, addr, buf64, 0, 0, 0)

/* This thread's errors are muted until they were enabled as often. */
#define INTERPOSE_DISABLE_ERROR_REPORTING INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_CHANGE_ERR_DISABLEMENT, 1, 0, 0, 0, 0)
#define INTERPOSE_ENABLE_ERROR_REPORTING  INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_CHANGE_ERR_DISABLEMENT, -1, 0, 0, 0, 0)
#define INTERPOSE_INNER_THREADS(addr)     INTERPOSE_REQUEST_STMT(INTERPOSE_RQ_INNER_THREADS, addr, 0, 0, 0, 0)

/* Flags of INTERPOSE_CREATE_MEMPOOL_EXT. */
#define INTERPOSE_MEMPOOL_AUTO_FREE 1
#define INTERPOSE_MEMPOOL_METAPOOL  2

#ifdef __GNUC__
#define INTERPOSE_PRINTF_LIKE_ __attribute__((format(printf, 1, 2), unused))
#else
#define INTERPOSE_PRINTF_LIKE_
#endif

/* Text to the engine's log; characters printed, 0 natively. */
static int INTERPOSE_PRINTF_LIKE_ INTERPOSE_PRINTF(const char *format, ...) {
    unsigned long interpose_printed_ = 0;
#if INTERPOSE_ACTIVE
    va_list interpose_list_;
    va_start(interpose_list_, format);
    interpose_printed_ = INTERPOSE_REQUEST(0, INTERPOSE_RQ_PRINTF_VALIST_BY_REF, format, &interpose_list_, 0, 0, 0);
    va_end(interpose_list_);
#else
    (void)format;
#endif
    return (int)interpose_printed_;
}

/* The same, and the stack from here. */
static int INTERPOSE_PRINTF_LIKE_ INTERPOSE_PRINTF_BACKTRACE(const char *format, ...) {
    unsigned long interpose_printed_ = 0;
#if INTERPOSE_ACTIVE
    va_list interpose_list_;
    va_start(interpose_list_, format);
    interpose_printed_ =
        INTERPOSE_REQUEST(0, INTERPOSE_RQ_PRINTF_BACKTRACE_VALIST_BY_REF, format, &interpose_list_, 0, 0, 0);
    va_end(interpose_list_);
#else
    (void)format;
#endif
    return (int)interpose_printed_;
}

#include "spelling.h"

#endif
