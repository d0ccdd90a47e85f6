/* What runtime, translator and Python say to each other: slots with requests, and the header with options,
 * counters and addresses.  Both sides carry a checksum of all C sources (build-aux/build_id.py), which the runtime
 * compares at its start.  Like the other headers of this folder it is kept inside the subset of C that cffi parses:
 * plain enums, structs of fixed-width fields, and integer #defines. */
#ifndef INTERPOSE_ABI_CHANNEL_H
#define INTERPOSE_ABI_CHANNEL_H

#include <stdint.h>

#include "abi/attached.h"

#define IP_ABI_VERSION 1
#define IP_MAGIC       0x49504f53

#define IP_SLOTS      4096
#define IP_SLOT_SIZE  8192
#define IP_SLOT_DATA  8000
#define IP_CHAN_SLOTS 0x10000   /* offset of slot 0 in the channel */
#define IP_CHAN_BYTES 0x2010000 /* with all slots; behind it in its file: the translator's own (jit/memory.h) */

enum ip_slot_state { IP_S_FREE, IP_S_IDLE, IP_S_POSTED, IP_S_TAKEN, IP_S_DONE };

/* Why translations no longer hold: the mapping is another one, the program
 * wrote there, or a tracer may write anywhere from now on. */
enum ip_invalid { IP_INVALID_CHANGED, IP_INVALID_WRITTEN, IP_INVALID_TRACED };

enum ip_req {
    IP_R_NONE,
    /* answered by the translator thread */
    IP_R_TRANSLATE,  /* a0 = key, a1 = exit_id or ~0; code may be fetched from
                        [a2, a3), which holds the pc; r0 = host (0: use r1 =
                        exit kind). r1 = 1: cache full, flush needed. a5: drop
                        the translation of this key before, if not 0. a6: bit 0: not
                        by users' bindings, if the key has IP_KEY_ONE; bit 1: past a breakpoint. data:
                        len/8 guest pages newly translated from */
    IP_R_INVALIDATE, /* a0 = addr, a1 = len: drop translations made from it;
                        a2 = enum ip_invalid; r0 = how many there were; data:
                        len/2 entries of the fast table to clear, or, r1 = 1,
                        more than IP_MAX_GONE: all */
    IP_R_FLUSH,      /* all threads are out of the cache: forget everything */
    IP_R_WATCHED,    /* a0 = page: from now on a write to it is announced by
                        IP_R_INVALIDATE before it happens; or, a1 = 1: writes
                        may come unnoticed, so blocks compare their bytes */
    IP_R_EXACT,      /* from the next flush on, translate with these IP_C_EXACT, IP_C_JUMPS too; r0 = 1: so it is
                        done already */
    /* answered by Python */
    IP_R_HELLO = 64,  /* runtime is up; a0 = pid */
    IP_R_MAPPED,      /* code was mapped: a0 = addr, a1 = len, a2 = file off,
                         a3 = prot, a4 = device, a5 = inode (0: unknown), a6 =
                         a descriptor that may still be of the file, a7: the
                         program maps it shared and writable, too, data = path */
    IP_R_UNMAPPED,    /* a0 = addr, a1 = len, a2: private anonymous memory takes its place */
    IP_R_LOADED,      /* program loaded: a0 = entry, a1 = phdr, a2 = interp base,
                         a3 = load bias of program, a4 = sp, a5 = brk base */
    IP_R_EXIT,        /* a0 = status, a6 = threads with errors disabled, a7 = pid of a
                         vfork child that ends, else 0, a5 = its rt_show_pid(); r0 = status to use */
    IP_R_FATAL,       /* a0 = signal, a1 = code, a2 = addr, a3 = pc, a4 = the program's
                         status + 1 in a final call, else 0, a5 to a7 as for IP_R_EXIT, data = frames; reply
                         when reported, r0 = status to use in a final call */
    IP_R_ERROR,       /* tool error, see struct ip_error in data; r0 = 1: end the
                         program with status r1 */
    IP_R_REQUEST,     /* client request: data = 6 words, then a stack trace if
                         the call stack is kept; r0 = result; the first r2
                         bytes of data: struct ip_put and its bytes, repeated; r3 = 1: end the
                         program with status r1 */
    IP_R_FORK,        /* about to fork; fds come over the socket; a0 = a debugger wants the child to wait */
    IP_R_FORKED,      /* a0 = child pid or -errno */
    IP_R_FORK_CHILD,  /* first message of a forked child; a0 = pid, a5 = rt_show_pid() */
    IP_R_EXEC,        /* data: path\0 argv\0...\0; a0 = argc, a1 = pid, a2 = vfork
                         child, a5 = its rt_show_pid(), a6 = a debugger hears of that one, a3 = the image can
                         be followed; r0 = 1 traced (new fds come over the socket), 0 native, -errno: it fails */
    IP_R_EXEC_FAILED, /* a0 = errno */
    IP_R_THREAD,      /* a0 = tid_guest, a1 = IP_THREAD_*, a2 = kernel tid, a3 = it has errors
                         disabled; data = its new name */
    IP_R_MESSAGE,     /* data = text to log; a0 = IP_SAY_* */
    IP_R_ILLEGAL,     /* an instruction that is none: a0 = its pc; data = frames */
    IP_R_INTERNAL,    /* internal fault of the runtime, already told; a0 = key of
                         the block that ran, 0 unknown */
    IP_R_FIND,        /* data = symbol name; r0 = address of that function, 0 none */
    IP_R_FINAL_CALL,  /* the program is about to end: a0 = calls made so far;
                         r0 = guest function to call before (freeres), or 0 */
    IP_R_STOPPED,     /* --stop-after: a0 = key of the last block that ran,
                         a1 = where the real CPU goes on */
    IP_R_DEBUG,       /* a debugger has this thread wait: a0 = enum ip_debug_why, data = struct ip_debug_state;
                         r0 = enum ip_debug_go */
    IP_R_FDS,         /* something about the program's descriptors, see descriptors.h */
    IP_R_OWN_IMAGE,   /* the stubs image cannot be opened from here; r0 = 1: its descriptor comes over the socket */
    IP_R_HOOK         /* a hooked call: a0 = its frame, a2 = words on the stack from its arguments on, a3 = writes of
                         the last answer that failed, a4 = enum ip_hook_again of that answer; data: the frame (hook.h),
                         then a stack trace where one was asked for and is kept; r0 = enum ip_hook_answer, r1 = enum
                         ip_hook_again, r2: as for IP_R_REQUEST */
};

/* A child by vfork, which is on its maker's memory: its number, from 1 on; that of the nearest of its makers that is
 * such a child, too, and is known; the thread of the process that it is a copy of, also of what it has forked; and
 * whether the supervisor knows it by now, which says so in the slot.  All 0: no such child. */
struct ip_vforked {
    uint32_t number, by, thread, known;
};

struct ip_slot {
    uint32_t state;   /* futex: enum ip_slot_state */
    uint32_t kind;    /* enum ip_req */
    uint32_t tid;     /* kernel thread id */
    uint32_t waiting; /* client thread sleeps on state */
    uint64_t a[8];
    uint64_t r[4];
    uint64_t tstate; /* client address of the thread's state */
    uint32_t len;    /* bytes used in data */
    uint32_t tid_guest;
    uint64_t cpu;         /* where the thread ran when it asked */
    uint64_t pending_sig; /* client address of the number (uint32_t) of a signal that it has taken; 0: none */
    struct ip_vforked vforked;
    uint64_t pad[2];
    uint8_t data[8000];
};

/* What the answer to a request writes to the client's memory. */
struct ip_put {
    uint64_t addr;
    uint64_t len; /* bytes that follow; the next one is 8-aligned */
};

/* What else the answer to a client request says, in r[3]. */
enum ip_answer {
    IP_ANSWER_GIVEN,
    IP_ANSWER_ENDS,   /* the program with the status in r[1]: what there is to say was said */
    IP_ANSWER_NONE,   /* nobody knows such a request, and that has been told where it is to be */
    IP_ANSWER_STANDS, /* until answers_age is another one, or an error is met; bytes for guest memory included */
};

/* Where --delays has a process stand still: between two steps that another process can come between.  Those of the
 * runtime, then the supervisor's. */
enum ip_delay {
    IP_AT_REQUEST,    /* before a request is posted */
    IP_AT_ANSWERED,   /* after its answer has come */
    IP_AT_FORK,       /* before a fork's last look at signals, the child's descriptors are here */
    IP_AT_FORKING,    /* behind it, before the clone that copies memory */
    IP_AT_BORN,       /* first in the child */
    IP_AT_CLONE,      /* before a clone that shares memory */
    IP_AT_THREAD,     /* first in the new thread */
    IP_AT_EXEC,       /* before the kernel's execve */
    IP_AT_FINAL,      /* before libraries release their memory */
    IP_AT_EXIT,       /* after the report, before the kernel's exit */
    IP_AT_TRANSLATED, /* before the translator answers */
    IP_AT_EVENT,      /* before Python looks at a request */
    IP_AT_REPLY,      /* before Python's answer */
    IP_AT_HANGUP,     /* end of file has been seen */
    IP_AT_FORKED,     /* first in a forked supervisor */
    IP_AT_SEND,       /* before descriptors are sent */
    IP_AT_HOLD,       /* before the kernel holds back what blocked signals of faults a sleep begins with */
    IP_AT_FAULT,      /* before a fault's handler gets its frame */
    IP_AT_END
};

/* An indirect function whose target is bound before its resolver has chosen it, as it did in an earlier run.  Where it
 * does so again, in this order, nobody has to be asked. */
struct ip_ahead {
    uint64_t resolver, target;
};

struct ip_chan {
    uint32_t magic;
    uint32_t build;   /* checksum of the translator's and the runtime's sources */
    uint32_t bell_tr; /* futex: bumped when a translator request is posted */
    uint32_t bell_py; /* futex: bumped when a Python request is posted */
    uint32_t tr_sleeping, py_sleeping;
    uint32_t client_pid, supervisor_pid;
    uint32_t spin;         /* ticks to spin before futex (0: one CPU) */
    uint32_t spin_whole;   /* for so long each time: nobody else wants the CPUs */
    uint32_t dead;         /* supervisor set it: stop (IP_DEAD_*) */
    uint32_t fork_said;    /* futex: the runtime's word to a child that it makes (processes/process.c) */
    uint64_t config_flags; /* IP_C_* */
    uint64_t stop_after;   /* blocks, 0 = never */
    uint64_t evict;        /* drop translations every so many exits, 0 = never */
    uint64_t main_stack;   /* bytes, with what it has grown by */
    uint64_t verbosity;
    uint64_t num_callers;
    uint64_t data_end;       /* the program's brk, 0: it never asked */
    uint32_t shows;          /* IP_SHOW_*: what is told as it happens */
    uint32_t merge_frames;   /* cycles of up to so many frames are one in a stack trace */
    uint64_t errors_until;   /* met so many, the next one is asked about (IP_E_NONE) before it counts */
    uint32_t errors_stopped; /* no more are wanted, not even their number */
    uint32_t error_frames;   /* of the stack that tell two errors apart */
    uint64_t max_stackframe; /* bytes: a greater step of RSP is a switch of stacks */
    uint64_t keeps_stack;    /* set when the program has code that what RSP gives back stays defined for */
    uint64_t redzone, alignment, freelist_vol, freelist_big;
    int64_t malloc_fill, free_fill; /* -1 = none */
    uint64_t counters[16];          /* statistics written by both */
    uint64_t fast_gen;              /* bumped when the client must clear its fast table */
    uint64_t tr_cpu;                /* where the translator thread runs */
    uint64_t py_cpu;                /* where Python ran when it took its last request */
    uint64_t pend_tr[64];           /* bitmaps of slots with a posted request */
    uint64_t pend_py[64];
    uint64_t slots_used;       /* the slots from here on were never anybody's */
    uint64_t rt_symbols[32];   /* addresses the runtime publishes (IP_SYM_*) */
    uint8_t prog[4096];        /* path of the program to load */
    uint8_t stubs[4096];       /* path of the stubs image (wrappers/), or "" */
    uint64_t carried;          /* bytes at slot 1 that the runtime left for the image it executes */
    uint64_t random_registers; /* seed of the translator's choice of registers, 0: the cheapest */
    uint64_t watch_pc;         /* guest pc whose blocks call IP_SYM_WATCHED, or 0 */
    uint64_t user_bindings;    /* not 0: wrappers or replacements that are none of ours have been met */
    uint32_t delayed;          /* not 0: the next two are in use */
    uint32_t delay_ms[18];     /* by enum ip_delay */
    uint64_t delay_seed;       /* of delays at random, anywhere; 0: none */
    uint64_t tool[8];          /* what a tool's two parts say to each other */
    uint8_t tool_path[4096];   /* the same: a file, or "" */
    uint32_t debug;            /* IP_DBG_*: a debugger is there */
    uint32_t debug_n_watched;
    uint64_t debug_passed;   /* signals that are not told, by bit sig - 1 */
    uint64_t debug_minded;   /* those that are to be told also where they are ignored, and so not heard of else */
    uint64_t debug_calls[8]; /* system calls that are, by number */
    struct ip_debug_range debug_watched[1024];
    uint8_t left_files[3][1024]; /* the supervisor's, which the program removes if it is killed; or "" */
    uint64_t ahead_state;        /* how many of them were met, | their number << 16 | which list it is << 32 */
    struct ip_ahead ahead[128];
    uint64_t answers_age; /* the supervisor counts it up: code or errors are not what they were */
};

#define IP_DEAD_GONE  1 /* of ip_chan.dead */
#define IP_DEAD_TOLD  2 /* it has said why */
#define IP_DEAD_ASKED 3 /* it lives, and somebody asked it to end the program, with status 0 */

#define IP_SAY_PLAIN 0 /* a0 of IP_R_MESSAGE: with the prefix of messages */
#define IP_SAY_DEBUG 1 /* of debug lines */
#define IP_SAY_RAW   2 /* none */
#define IP_SAY_WARN  3 /* of messages; a report in XML leaves it out */

#define IP_SHOW_CALLS   1  /* of ip_chan.shows: --trace-syscalls=yes */
#define IP_SHOW_ILLEGAL 2  /* --sigill-diagnostics=yes */
#define IP_SHOW_SIGNALS 4  /* --trace-signals=yes */
#define IP_SHOW_THREADS 8  /* --trace-sched=yes */
#define IP_HIDE_VFORKED 16 /* --child-silent-after-fork=yes: no errors of children by vfork */

#define IP_THREAD_ENDS   0 /* a1 of IP_R_THREAD */
#define IP_THREAD_STARTS 1
#define IP_THREAD_NAMED  2
#define IP_TOLD          2 /* the same, as a byte to the process that launches */

#define IP_C_SHADOW             1 /* V and A bits are kept */
#define IP_C_CALLSTACK          2 /* translated calls keep the call stack */
#define IP_C_HEAP               4 /* the malloc family is replaced */
#define IP_C_TRACE_CHILDREN     8
#define IP_C_SINGLE_STEP        16
#define IP_C_NO_OPT             32
#define IP_C_NO_CLEANUP         64
#define IP_C_NO_INSTR           128
#define IP_C_NO_CHAIN           256
#define IP_C_UNDEF              512 /* definedness errors are reported */
#define IP_C_FORCE_TRACK        1024
#define IP_C_EXEC_CHILD         2048 /* this image came from an exec */
#define IP_C_KEEP_FREE_STACK    4096
#define IP_C_KEEP_ALLOC_STACK   8192
#define IP_C_NO_PARTIAL_LOADS   16384         /* --partial-loads-ok=no */
#define IP_C_REALLOC_ZERO_KEEPS 32768         /* --realloc-zero-bytes-frees=no */
#define IP_C_FAR_IMAGES         131072        /* --far-images=yes */
#define IP_C_NO_GSBASE          16777216      /* --fsgsbase=no, or no FSGSBASE for programs */
#define IP_C_SMC_ALL            262144        /* --smc-check=all */
#define IP_C_PERF_MAP           8388608       /* --perf-map=yes */
#define IP_C_NO_VDSO            1048576       /* --vdso=no */
#define IP_C_FIXED_STACK        524288        /* --main-stacksize= was given */
#define IP_C_EXACT              2097152       /* every flag of a fault is the program's */
#define IP_C_ORIGINS            65536         /* --track-origins=yes */
#define IP_C_TRACE              33554432      /* runs of blocks are recorded (trace.h) */
#define IP_C_TRACE_NO_FRAMES    536870912     /* without RSP where a frame is made or left */
#define IP_C_TRACE_DATA         67108864      /* and their accesses */
#define IP_C_TRACE_EVENTS       134217728     /* and system calls, signals, times */
#define IP_C_TRACE_FUNCTIONS    268435456     /* blocks end where another function begins */
#define IP_C_TRACE_VALUES       1073741824    /* arguments where a function begins, results before returns */
#define IP_C_COUNT              4294967296    /* runs are counted in line, not recorded (count.h) */
#define IP_C_TRACE_ADDRESSES    8589934592    /* accesses' addresses are recorded, not what they are formed of */
#define IP_C_TRACK_FDS          17179869184   /* IP_R_FDS is wanted */
#define IP_C_MOVE_FDS           34359738368   /* new descriptors get high numbers, but 0 to 2 */
#define IP_C_MOVE_ALL_FDS       68719476736   /* all */
#define IP_C_HEAP_COUNTS        137438953472  /* what each stack allocates and frees is added up */
#define IP_C_LAX_IOCTLS         274877906944  /* --sim-hints=lax-ioctls */
#define IP_C_SHOW_HEAP          549755813888  /* --trace-malloc=yes */
#define IP_C_JUMPS              1099511627776 /* a handler may see where a jump to no address was */

/* Indices of counters (racy: statistics only). */
enum ip_counter {
    IP_N_MISSES,                /* indirect jumps that missed the fast table */
    IP_N_EXITS,                 /* other exits from translated code */
    IP_N_SLOW,                  /* slow paths: load, store, tracking helper, stack change */
    IP_N_LIGHT = IP_N_SLOW + 9, /* slow paths answered without a full exit */
    IP_N_TOOL,                  /* from here on the tool's own */
    IP_N_END = 16
};

/* Indices of rt_symbols: client addresses the emitter or Python needs. */
enum ip_sym {
    IP_SYM_EXIT,          /* jump here with tstate.exit_id set */
    IP_SYM_INDIRECT_MISS, /* jump here: guest pc in RDX, RCX and RDX in slots */
    IP_SYM_SLOW,          /* slow path of any kind (IP_XS_*), by a full exit */
    IP_SYM_STORES,        /* entry 0 (IP_STORES_*) of those that settle first stores (IP_XS_STORE) in assembly.  The
                             address in RCX, RCX in its slot, tstate.target: where to go on */
    IP_SYM_SLOW_LOAD,     /* the same of IP_XS_LOAD, by a full exit.  The address in RCX, RCX in its slot */
    IP_SYM_SLOW_LIGHT,    /* the same of any other kind; tries shadow/fast.c with the caller-saved registers alone */
    IP_SYM_MOVES,         /* entry 0 (enum ip_move) of those that settle IP_XS_TRACK of plain moves in assembly.  The
                             address in RCX, RCX in its slot, tstate.acc_info: what and where, tstate.target: where to
                             go on */
    IP_SYM_ARITH,         /* entry 0 (IP_AR_*) of those that settle IP_XS_TRACK of sums and their like in assembly: RBX
                             and RCX, in their slots, have operands, tstate.target says where to go on */
    IP_SYM_ARRIVE,       /* slow path of IP_XS_ARRIVE: in RCX the template's address, in RDX the ct_where that it wants,
                            RCX and RDX in slots, tstate.resume: where to go on */
    IP_SYM_ARRIVE_FLAGS, /* the same; keeps the flags */
    /* Arrivals that may be known (count.h), RCX and RDX in slots.  In RDX where to go on if they are, and << 32 if they
     * are not; in RCX of a call the template's address, with its instructions << 32 where it only leads on, of a
     * return the ct_where that is wanted. */
    IP_SYM_CALLED,
    IP_SYM_CALLED_FLAGS,
    IP_SYM_LINKED,     /* keeps the flags */
    IP_SYM_RETURNED,   /* the flags are free */
    IP_SYM_CS_SYNC,    /* call stack out of step at a ret */
    IP_SYM_MISS,       /* like INDIRECT_MISS, but always back to the dispatcher */
    IP_SYM_RED_ZONE,   /* a return with a dirty red zone */
    IP_SYM_GIVE_BACK,  /* slow path of IP_XS_SPCHG whose new red zone is not to stay; else as LIGHT */
    IP_SYM_HEAP_TABLE, /* struct of the heap (heap/heap.h) */
    IP_SYM_SEGMENTS,   /* mapping table */
    IP_SYM_STATS,
    IP_SYM_CTX_TABLE, /* table of recorded stack traces */
    /* For the tracer of interpose/lockstep. */
    IP_SYM_REQUEST,     /* jump here with the exit_id of an IP_X_REQUEST that has a patch address */
    IP_SYM_ENTER_JUMP,  /* jmp into a block: registers are the guest's */
    IP_SYM_RUN_NATIVE,  /* rt_run_native(ts) */
    IP_SYM_KERNEL_INSN, /* a syscall instruction */
    IP_SYM_WATCHED,     /* called before a block at chan.watch_pc is entered */
    IP_SYM_TOOL         /* what the tool's part in the supervisor reads */
};

#endif
