/* What a debugger in the supervisor and the client's threads say to each other.  cffi parses this file. */
#ifndef INTERPOSE_ABI_ATTACHED_H
#define INTERPOSE_ABI_ATTACHED_H

#include <stdint.h>

/* Bits of ip_chan.debug; 0: nobody is there. */
#define IP_DBG_STOP    1  /* every thread waits at its next boundary */
#define IP_DBG_ON      2  /* signals are told before they are delivered */
#define IP_DBG_CATCH   4  /* system calls of ip_chan.debug_calls are told */
#define IP_DBG_WATCH   8  /* ip_chan.debug_watched has ranges */
#define IP_DBG_FORKS   16 /* children that are born are told, and wait themselves */
#define IP_DBG_VFORKS  32 /* those on their parent's memory are told when they have left it */
#define IP_DBG_THREADS 64 /* threads that begin and end are told */

/* si_code of the SIGTRAP that makes a thread leave translated code, or a system call; negative: sendable to any. */
#define IP_KICK_CODE (-0x4950)

/* Why a thread waits: a0 of IP_R_DEBUG. */
enum ip_debug_why {
    IP_DBG_HELD,       /* IP_DBG_STOP */
    IP_DBG_BREAK,      /* at a breakpoint, whose instruction has not run */
    IP_DBG_STEPPED,    /* the instruction is done, or the range is left */
    IP_DBG_SIGNAL,     /* a1 is about to be delivered, siginfo in the state */
    IP_DBG_ENTRY,      /* of system call a1 */
    IP_DBG_RETURN,     /* the same */
    IP_DBG_WATCHED,    /* the instruction before has accessed a1, a watched address */
    IP_DBG_FORKED,     /* the call before has made process a1 */
    IP_DBG_VFORKED,    /* the same, by vfork: it has left this memory */
    IP_DBG_VFORK_DONE, /* behind it */
    IP_DBG_CREATED,    /* the thread's first instruction is next */
    IP_DBG_EXITED,     /* it ends, with status a1 */
    IP_DBG_UNPARKED    /* (Python's own: it is somewhere in the runtime or the kernel) */
};

/* How it goes on: r0 of the answer; r1: with which signal (of IP_DBG_SIGNAL), r2 and r3: the range of IP_DBG_GO_RANGE.
 */
enum ip_debug_go {
    IP_DBG_GO,
    IP_DBG_GO_STEP,  /* one instruction */
    IP_DBG_GO_RANGE, /* as many as lie in [r2, r3) */
    IP_DBG_GO_PAST   /* the breakpoint here does not count */
};

#define IP_DBG_XSAVE      6144
#define IP_DBG_COMPONENTS 20
/* Bits of ip_debug_state.changed, which the supervisor sets; below them those of enum ip_gpr. */
#define IP_DBG_CHANGED_PC    16
#define IP_DBG_CHANGED_FLAGS 17
#define IP_DBG_CHANGED_BASES 18
#define IP_DBG_CHANGED_XSAVE 19

/* A thread's registers: the slot's data, while its request waits. */
struct ip_debug_state {
    uint64_t gpr[16];
    uint64_t pc, rflags, fs_base, gs_base;
    uint64_t orig_rax; /* number of the system call that this stop belongs to, or ~0 */
    uint64_t changed;
    uint32_t selectors[6]; /* cs, ss, ds, es, fs, gs */
    uint8_t siginfo[128];
    uint64_t origins;    /* client address of struct ip_origins, or 0: the tool keeps none */
    uint64_t components; /* XSAVE components that xsave holds */
    uint32_t xsave_size;
    uint32_t at[20]; /* where each begins in it, 0: not there */
    uint8_t pad[100];
    uint8_t xsave[6144]; /* at a multiple of 64 */
};

/* Where what is undefined in the registers comes from, as numbers; 0: unknown. */
struct ip_origins {
    uint32_t gpr[16], vec[32], mmx[8], k[8], flags, fsw;
};

/* A watched range [lo, hi). */
struct ip_debug_range {
    uint64_t lo, hi;
    uint64_t kinds; /* IP_DBG_ON_* */
};
#define IP_DBG_ON_READ  1
#define IP_DBG_ON_WRITE 2
#define IP_DBG_RANGES   1024

#endif
