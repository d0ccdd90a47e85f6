/* What the parts of the MPI wrapper library share.
 *
 * The library is preloaded into an MPI program that runs under an engine. Each wrapper (made from functions.table by
 * the generator, or by hand in completion.c and process.c) asks ip_enter whether it is the outermost MPI call of its
 * thread: what the MPI library calls of itself, and what this library calls, passes through.
 */
#ifndef INTERPOSE_MPIWRAP_H
#define INTERPOSE_MPIWRAP_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <interpose/interpose.h>
#include <interpose/memcheck.h>

#include "probed.h" /* HAVE_PMPI_..., IP_SONAME, IP_LIBRARY: made by the generator from the MPI library's header */

#define IP_EXPORT           __attribute__((visibility("default")))
#define IP_PASTE_(so, name) INTERPOSE_WRAP_SONAME_FNNAME_ZU(so, name)
#define IP_WRAPPER(name)    IP_PASTE_(IP_SONAME, name)
#define IP_COUNT_OF(array)  (sizeof(array) / sizeof *(array))

/* A handle as a word: a pointer in some implementations, a number in others. */
#define IP_WORD(handle) ((uintptr_t)(handle))

/* One call of thirteen words: MPI_Rget_accumulate, MPI_T_pvar_get_info. */
#define INTERPOSE_SETUP_13_                                                                                            \
    "subq $136, %%rsp\n\tpushq 104(%%rax)\n\tpushq 96(%%rax)\n\tpushq 88(%%rax)\n\tpushq 80(%%rax)\n\t"                \
    "pushq 72(%%rax)\n\tpushq 64(%%rax)\n\tpushq 56(%%rax)\n\tmovq 8(%%rax), %%rdi\n\t"                                \
    "movq 16(%%rax), %%rsi\n\tmovq 24(%%rax), %%rdx\n\tmovq 32(%%rax), %%rcx\n\t"                                      \
    "movq 40(%%rax), %%r8\n\tmovq 48(%%rax), %%r9\n\t"

/* ---- memory.c: what the library needs is not the program's heap, whose figures and leaks it must not change */

void *ip_alloc(size_t size); /* zeroed; the program ends when there is none */
void ip_free(void *block);

void ip_lock(void);
void ip_unlock(void);

/* ---- say.c */

struct ip_call;

extern bool ip_verbose, ip_quiet, ip_warn, ip_strict;
extern bool ip_has_bits;  /* the tool keeps definedness */
extern int ip_world_rank; /* -1 before MPI_Init */

void ip_start(void); /* reads MPIWRAP_DEBUG; called by every outermost call, works once */
void ip_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void ip_say_where(const char *format, ...) __attribute__((format(printf, 1, 2))); /* with the stack */
/* "file:line", or what the symbol table says, of the call that returns to that address. */
void ip_where(const void *caller, char text[256]);
/* Whether this is the first time that something (a number of its kind) is said about that place. */
bool ip_first_time(const void *caller, const char *function, const char *what);

/* ---- libraries.c */

/* What the program's call returns to, where that is in the library's Fortran bindings: behind them. */
const void *ip_caller_in_program(const void *caller);

/* ---- layout.c: where the bytes of a datatype lie */

struct ip_layout {
    int refs;
    int depth;      /* of the tree below, 1 for a piece */
    MPI_Count size; /* bytes of data */
    MPI_Aint lb, extent;
    MPI_Aint low, high; /* the bytes touched lie in [low, high) */
    MPI_Count pieces;   /* at most so many */
    enum { IP_PIECE, IP_REPEAT, IP_LIST } kind;
    MPI_Count times; /* IP_REPEAT: of child, every stride bytes; IP_LIST: parts */
    MPI_Aint stride;
    struct ip_layout *child;
    struct ip_part *parts;
};

struct ip_part {
    MPI_Aint at;
    struct ip_layout *child;
};

/* Of a datatype; the caller gives it back by ip_layout_drop. */
struct ip_layout *ip_layout_of(MPI_Datatype type);
struct ip_layout *ip_layout_keep(struct ip_layout *layout);
void ip_layout_drop(struct ip_layout *layout);
void ip_layout_forget(MPI_Datatype type); /* the handle is freed */
bool ip_type_is_named(MPI_Datatype type);

/* ---- spans.c: buffers of a call */

enum ip_role { IP_READ = 1, IP_STORE = 2 };

struct ip_span {
    const char *name; /* of the parameter */
    uintptr_t base;
    MPI_Count count;
    struct ip_layout *layout;
    enum ip_role role;
    bool by_status; /* the status says how much came */
};

struct ip_spans {
    struct ip_span *all;
    int n, room;
    struct ip_span few[3];
};

struct ip_call {
    const char *function;
    const void *caller;
    struct ip_spans spans;
};

/* False in a call inside of a call: pass it on. */
bool ip_enter(struct ip_call *call, const char *function, const void *caller, const void *frame);
void ip_leave(struct ip_call *call);

void ip_add(struct ip_call *call, enum ip_role role, const char *name, const void *buffer, MPI_Count count,
            MPI_Datatype type, bool by_status);
void ip_add_blocks(struct ip_call *call, enum ip_role role, const char *name, const void *buffer, int blocks,
                   MPI_Count count, MPI_Datatype type);

/* The block of that number alone. */
void ip_add_own(struct ip_call *call, enum ip_role role, const char *name, const void *buffer, int block,
                MPI_Count count, MPI_Datatype type);

/* Per-rank counts and displacements, int or wide; types has one element, or one for each block. */
struct ip_blocks {
    int n;
    const int *counts;
    const MPI_Count *wide_counts;
    const int *displacements;
    const MPI_Aint *wide_displacements;
    const MPI_Datatype *types;
    bool type_each; /* displacements are bytes then */
    int only;       /* the one block meant, or -1 */
};
void ip_add_vector(struct ip_call *call, enum ip_role role, const char *name, const void *buffer,
                   const struct ip_blocks *blocks);

void ip_check_buffers(const struct ip_call *call, const struct ip_spans *spans, bool read, bool store);
/* What was stored is defined now; bytes: how much came, or -1 for all. */
void ip_arrived(const struct ip_span *span, MPI_Count bytes);
void ip_all_arrived(const struct ip_spans *spans, const MPI_Status *status);
void ip_spans_move(struct ip_spans *to, struct ip_spans *from);
void ip_spans_drop(struct ip_spans *spans);
MPI_Count ip_bytes_of(const MPI_Status *status);

/* In a function where `call` points to the call. Complains and goes on; the copy of the argument is made defined, so
 * that this is said once. */
void ip_undefined_argument(const struct ip_call *call, const char *name, void *argument, size_t size);
#define IP_VALUE(name)                                                                                                 \
    do {                                                                                                               \
        if (INTERPOSE_CHECK_MEM_IS_DEFINED(&name, sizeof name))                                                        \
            ip_undefined_argument(call, #name, &name, sizeof name);                                                    \
    } while (0)
bool ip_is_marker(const void *pointer); /* MPI_STATUS_IGNORE, MPI_UNWEIGHTED and their like */
#define IP_READS(name, n)                                                                                              \
    do {                                                                                                               \
        if (!ip_is_marker(name) && (MPI_Count)(n) > 0 &&                                                               \
            INTERPOSE_CHECK_MEM_IS_DEFINED(name, (MPI_Count)(n) * sizeof *(name)))                                     \
            ip_undefined_argument(call, #name, NULL, 0);                                                               \
    } while (0)
#define IP_STORES(name, n)                                                                                             \
    do {                                                                                                               \
        if (!ip_is_marker(name) && (MPI_Count)(n) > 0)                                                                 \
            (void)INTERPOSE_CHECK_MEM_IS_ADDRESSABLE(name, (MPI_Count)(n) * sizeof *(name));                           \
    } while (0)

/* ---- comm.c: who takes part; of what is not there, nothing */

enum { IP_ROOT = 1, IP_LEAF = 2 };

unsigned ip_part_of(MPI_Comm comm, int root); /* IP_ROOT, IP_LEAF or both; 0 for MPI_PROC_NULL */
int ip_all(MPI_Comm comm);
int ip_group(MPI_Comm comm);
int ip_rank(MPI_Comm comm);
int ip_sources(MPI_Comm comm);
int ip_destinations(MPI_Comm comm);
int ip_cart_dims(MPI_Comm comm);
MPI_Count ip_sum(const int *numbers, int n);
MPI_Count ip_sum_wide(const MPI_Count *numbers, int n);
MPI_Count ip_mine(const int *numbers, MPI_Comm comm);
MPI_Count ip_mine_wide(const MPI_Count *numbers, MPI_Comm comm);
MPI_Count ip_last(const int *numbers, int n);

/* ---- handles.c: objects that somebody has to free */

enum ip_kind {
    IP_COMM,
    IP_TYPE,
    IP_OP,
    IP_GROUP_,
    IP_WIN,
    IP_FILE_,
    IP_INFO,
    IP_ERRH,
    IP_MESSAGE,
    IP_SESSION,
    IP_MEMORY,
    IP_KINDS
};

void ip_made(enum ip_kind kind, uintptr_t handle, const struct ip_call *call);
void ip_freed(enum ip_kind kind, uintptr_t handle);
void ip_made_type(MPI_Datatype type, const struct ip_call *call);
void ip_made_contents(MPI_Datatype type, const MPI_Datatype *contents, MPI_Count room, const struct ip_call *call);
void ip_tell_leaks(void);

/* ---- requests.c: what is under way */

/* A request was made by this call, whose spans it takes; partitions: 0, or how many parts each buffer has that are
 * given and arrive one by one. */
void ip_request_made(struct ip_call *call, uintptr_t handle, bool persistent, int partitions);
void ip_partitions_ready(const struct ip_call *call, uintptr_t handle, int first, int last);
void ip_partition_arrived(uintptr_t handle, int partition);
void ip_request_started(const struct ip_call *call, uintptr_t handle);
void ip_request_cancelled(uintptr_t handle);
void ip_request_freed(uintptr_t handle);
/* It completed with that status (NULL: with an error). */
void ip_request_done(uintptr_t handle, const MPI_Status *status);
void ip_request_peeked(uintptr_t handle, const MPI_Status *status);
void ip_tell_requests(void);
/* Buffers of the call that overlap each other, or those of what is under way, though they must not. */
void ip_check_overlaps(const struct ip_call *call);

/* What the spans of a call store comes when the window (the file) is synchronised. */
void ip_pending(struct ip_call *call, enum ip_kind kind, uintptr_t handle, int rank);
void ip_synchronised(enum ip_kind kind, uintptr_t handle, int rank, const MPI_Status *status); /* rank -1: all */
void ip_window_made(uintptr_t handle, const void *base, MPI_Aint size);
void ip_window_attached(uintptr_t handle, const void *base, MPI_Aint size);
void ip_window_detached(uintptr_t handle, const void *base);
void ip_window_exposed(uintptr_t handle, bool by_fence);
void ip_window_gone(uintptr_t handle);

/* ---- process.c */

void ip_unknown(const char *function, unsigned *times);

#endif
