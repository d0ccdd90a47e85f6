/* The contract between the runtime (in the client), the translator (in the
 * supervisor) and Python.  Kept inside the subset of C that cffi parses:
 * plain enums, structs of fixed-width fields, and integer #defines.
 * Offsets that generated code relies on are asserted in abi_check.h.
 * Both sides carry a checksum of all C sources (build-aux/build_id.py), which the runtime compares at its start.
 */
#ifndef INTERPOSE_ABI_H
#define INTERPOSE_ABI_H

#include <stdint.h>

#pragma once
#include "abi/x86_cpu.h"

#define IP_ABI_VERSION 1
#define IP_MAGIC       0x49504f53

/* ---- Address space of the client (docs/architecture.md) ---------------- */
#define IP_IMAGES_LO  0x10000000 /* PIEs, ld.so, libraries, exec maps */
#define IP_IMAGES_HI  0x5d000000 /* SBCL needs 0x50000000 to 0x5ac00000 */
#define IP_CACHE_BASE 0x5d000000 /* code cache, client maps it r-x */
#define IP_CACHE_MAX  0x10000000
#define IP_META_BASE  0x6d000000 /* translator's tables, client maps r-- */
#define IP_META_MAX   0x0f010000
#define IP_RT_BASE    0x7d000000 /* the runtime executable (fixed) */
#define IP_CHAN_BASE  0x7dc00000 /* channel, shared rw */
#define IP_FAST_BASE  0x7fd00000 /* fast lookup table, client private rw */
#define IP_FAST_BITS  16         /* entries = 1 << bits, 8 bytes each */
#define IP_MAX_GONE   4000       /* entries that IP_R_INVALIDATE names */
/* Bytes before the entry of a block with key below 2 GiB: entries of the table lead there, guest pc in RCX, RCX and
 * RDX in their slots. */
#define IP_ENTRY_CHECK 32
#define IP_LOW_END     0x7fff0000         /* AddressSanitizer's shadow: from 0x7fff7000 */
#define IP_CLIENT_LO   0x0000001000000000 /* heap, stacks, anonymous maps */
#define IP_CLIENT_END  0x0000200000000000 /* 32 TiB client limit */
#define IP_PLACE_END   0x0000100000000000 /* we place nothing from there on (CLISP's heap, 16 TiB) */
/* Without a shadow the program has what it has natively, but for a window of
 * ours and the kernel's places for the runtime's first stack: within 16 GiB
 * below the end of user space, and what that may grow to. */
#define IP_CLIENT_END_BARE 0x00007ff000000000
/* The runtime's own memory, chosen by us so that it never meets the program's.
 * Where native programs are (PIEs), which the fixed layouts of AddressSanitizer,
 * MemorySanitizer and ThreadSanitizer leave to the program. */
#define IP_OWN_BASE 0x0000550000000000
#define IP_OWN_END  0x0000558000000000
#define IP_BRK_BARE 0x0000560000000000 /* program break without a shadow */

/* Shadow: V byte of a is at a + IP_V_CONST; A bit of a is bit (a & 7) of the
 * byte at (a >> 3) + IP_A_BASE.  V: 1 = undefined.  A: 1 = unaddressable.
 * GS base is IP_V_CONST - IP_V_DISP and every gs: operand carries
 * + IP_V_DISP (docs/measurements.md, points 1 and 2). */
#define IP_V_CONST 0x0000200005555840
#define IP_V_DISP  0x3c
#define IP_A_BASE  0x0000500000000000

/* Translation keys: guest pc plus mode bits. */
#define IP_KEY_NOREDIR 0x8000000000000000 /* ignore bindings for this entry */
#define IP_KEY_TRACK   0x4000000000000000 /* tracking translation */
#define IP_KEY_ONE     0x2000000000000000 /* one instruction only (SMC) */
#define IP_KEY_BARE    0x1000000000000000 /* with KEY_ONE: without the tool */
#define IP_KEY_PC      0x0000ffffffffffff

/* ---- Registers --------------------------------------------------------- */
/* Bits of tstate.umask: which registers hold undefined bits. */
#define IP_U_GPR0    0 /* 16 bits */
#define IP_U_FLAGS   16
#define IP_U_K       17 /* any of k0..k7 */
#define IP_U_TAKES   22 /* what RSP takes on its way down may be marked defined */
#define IP_U_REDZONE 23 /* [RSP-128, RSP) holds bytes marked defined */
#define IP_U_MMX0    24 /* 8 bits */
#define IP_U_VEC0    32 /* 32 bits */

/* One condition pair per bit of tstate.vflags: cc >> 1 of jcc/setcc/cmovcc:
 * O, B, Z, BE, S, P, L, LE. */

/* ---- Thread state: FS base points here while guest code runs ------------ */
struct tstate {
    uint64_t gpr[16];        /* 0x000: spill slot of each GPR in translated code;
                                whole guest state while in the runtime */
    uint64_t rflags;         /* 0x080: guest rflags (whole, while in runtime) */
    uint64_t pc;             /* 0x088: guest pc (while in runtime) */
    uint64_t target;         /* 0x090: host address to jump to */
    uint32_t exit_id;        /* 0x098: exit taken (index into exits), or event */
    uint32_t lahf;           /* 0x09c: flags saved in entry.S: AH=lahf, AL=seto */
    uint64_t client_fs;      /* 0x0a0 */
    uint64_t client_gs;      /* 0x0a8 */
    uint64_t rt_sp;          /* 0x0b0: top of this thread's runtime stack */
    uint64_t umask;          /* 0x0b8: see IP_U_* */
    uint64_t cs_top;         /* 0x0c0: call stack: address of newest entry */
    uint64_t nraddr;         /* 0x0c8: VALGRIND_GET_NRADDR */
    uint64_t self;           /* 0x0d0: own address, linear */
    uint64_t tmp[8];         /* 0x0d8: scratch of translated code */
    uint64_t cs_base;        /* 0x118: lowest entry of the call stack */
    uint64_t cs_limit;       /* 0x120: first byte after the call stack */
    uint64_t bbcount;        /* 0x128: --stop-after countdown */
    uint64_t pad4;           /* to 0x138 */
    uint64_t acc_addr;       /* 0x138: access slow path: address */
    uint64_t acc_info;       /* 0x140: size | is_store << 16 | guest pc <<24.. */
    uint64_t resume;         /* 0x148: host address to resume after a slow path */
    uint64_t slot;           /* 0x150: index of this thread's channel slot */
    uint64_t tid_guest;      /* 0x158: small thread number, 1 = main */
    uint64_t stack_lo;       /* 0x160: current stack region (of a tool with a shadow) */
    uint64_t stack_hi;       /* 0x168 */
    uint64_t stack_shared;   /* 0x170: that region may hold more than one stack */
    uint64_t redzone_not_lo; /* 0x178: ~(lowest byte defined below RSP), 0 = none */
    uint16_t client_sel[2];  /* 0x180: selectors of FS and GS as the guest loaded them */
    uint32_t jump_exit;      /* 0x184: IP_C_EXACT: IP_X_TARGET of the last indirect jump */
    uint64_t pad0[15];       /* to 0x200 */
    uint64_t vgpr[16];       /* 0x200: V bits of the GPRs */
    uint8_t vflags;          /* 0x280: see above */
    uint8_t pad1[7];
    uint64_t vk[8];             /* 0x288: V bits of k0..k7 */
    uint64_t vmmx[8];           /* 0x2c8 */
    uint8_t pad2[56];           /* to 0x340 */
    uint8_t vvec[2048];         /* 0x340: V bits of zmm0..31, 64 bytes each */
    uint8_t vecsave[2048];      /* 0xb40: slow paths that need vector registers */
    uint8_t runtime_area[4096]; /* 0x1340: the runtime's own, see rt.h */
};

/* Call-stack entry: cs_top points at the newest.  not_sp is ~(address of the
 * return-address slot), so that a match needs no flags. */
struct ip_csent {
    uint64_t retaddr;
    uint64_t not_sp;
};

/* ---- Exits: every way out of translated code ---------------------------- */
/* ORDER: slow paths are counted from IP_N_SLOW on. */
enum ip_exit_kind {
    IP_X_DIRECT,      /* to ip_exit.key; patchable jmp at ip_exit.patch */
    IP_X_SYSCALL = 2, /* syscall at key-pc; next pc = ip_exit.aux */
    IP_X_REQUEST,     /* client request marker; next pc = aux */
    IP_X_NOREDIR,     /* call *rax without redirection; return pc = aux */
    IP_X_ILLEGAL,     /* undecodable: SIGILL at key-pc; aux: enum ip_illegal */
    IP_X_TRAP,        /* int3 / int1 / int n: aux = vector, length << 8,
                         IP_TRAP_INT */
    IP_X_STOP,        /* bbcount reached zero; continue natively at key-pc */
    IP_X_FAULTPC,     /* code cannot be read at key-pc: SIGSEGV */
    IP_X_SYSCALL32,   /* int 0x80 */
    IP_X_FAR,         /* far transfers, and what loads or stores the selectors of
                         fs and gs: key = client address of the struct ip_insn */
    IP_X_TARGET,      /* the target of an indirect jump, call or return at key-pc,
                         in tstate.acc_addr, is none of user space: aux = enum
                         ip_jump, insn length or extra bytes of the return << 2 */
    IP_X_STALE,       /* the bytes at key's pc are not those of the block */
    /* Slow-path sites: the runtime does its work and resumes at ip_exit.patch.
       LOAD, STORE: key = guest pc, aux = size, address in tstate.acc_addr.
       TRACK: key = client address of the struct ip_insn.
       SPCHG: key = guest pc after the instruction (with IP_KEY_ONE: the new red
       zone stays as it is; with IP_KEY_BARE: RSP was loaded, not moved within
       its frame), old RSP in tstate.tmp[0]. */
    /* FPSAVE: x87 state was stored at tstate.acc_addr; aux = enum ip_x87_layout */
    /* GSBASE: the host's GS gets a base (aux): 0 ours, else the guest's (enum ip_seg) */
    IP_XS_LOAD = 64,
    IP_XS_STORE,
    IP_XS_TRACK,
    IP_XS_SPCHG,
    IP_XS_FPSAVE,
    IP_XS_GSBASE
};
enum ip_illegal { IP_ILL_UNDEFINED, IP_ILL_LONG /* over 15 bytes: #GP */, IP_ILL_SYSENTER };
enum ip_jump { IP_JUMP_JMP, IP_JUMP_CALL, IP_JUMP_RET };
#define IP_TRAP_INT 0x8000 /* of IP_X_TRAP: int n, not int3 or int1 */
enum ip_x87_layout { IP_X87_FXSAVE, IP_X87_FXSAVE64, IP_X87_ENV32, IP_X87_ENV16 };
struct ip_exit {
    uint64_t key;      /* guest pc plus mode bits */
    uint32_t patch;    /* client address of the rel32 to patch, 0 if none */
    uint32_t kind_aux; /* kind in low 8 bits; aux: insn length (next = pc+aux)
                          or vector in the upper 24 */
};

/* ---- Translator's tables, in the meta memory (client maps read-only) ---- */
/* Precise state: sorted by host offset within a block. */
#define IP_PF_BOUNDARY  1  /* host address begins a guest instruction */
#define IP_PF_GUEST     4  /* the host instruction here is the guest's own */
#define IP_PF_SHADOW    8  /* a shadow access for the guest's access */
#define IP_PF_COMMITTED 16 /* guest effects begun: only roll forward */
#define IP_PF_RECHECK   32 /* compares code bytes; a fault means: translate anew */
#define IP_PF_EARLY     64 /* for one that comes later: nothing to report */
struct ip_point {
    uint16_t host_off;  /* from block start; state holds until next point */
    uint16_t guest_off; /* number of the guest instruction: ip_block.pcs has its pc */
    uint16_t spilled;   /* GPRs whose guest value is in tstate.gpr[] */
    uint16_t flags;     /* IP_PF_* */
};
struct ip_block {
    uint64_t key;
    uint32_t host; /* client address of the entry */
    uint32_t host_len;
    uint32_t points; /* index of first ip_point */
    uint16_t n_points;
    uint16_t n_insns;
    uint32_t pcs;   /* index into pcs[]: guest pc of each instruction;
                       ip_point.guest_off indexes it */
    uint32_t state; /* 1 live, 0 dropped */
};
/* Layout of the meta memory: header, then arrays at these byte offsets. */
#define IP_META_TT      0x00001000 /* translation table: ip_ttent[1<<19] */
#define IP_META_TTBITS  19
#define IP_META_EXITS   0x01001000 /* ip_exit[1<<21] */
#define IP_META_EXITMAX 0x00200000
#define IP_META_BLOCKS  0x03001000 /* ip_block[], sorted by host */
#define IP_META_BLKMAX  0x00030000
#define IP_META_POINTS  0x05001000 /* ip_point[] */
#define IP_META_PTMAX   0x00800000
#define IP_META_PCS     0x09001000 /* uint64_t[]: packed guest pcs */
#define IP_META_PCMAX   0x00400000
#define IP_META_DESC    0x0b001000 /* instruction descriptors (tracking) */
#define IP_META_DESCMAX 0x04000000
struct ip_ttent {
    uint64_t key;
    uint32_t host;
    uint32_t block;
};
struct ip_meta {
    uint32_t magic, version;
    uint32_t n_blocks, n_exits, n_points, n_pcs;
    uint32_t desc_used;
    uint32_t cache_used;
    uint64_t generation; /* bumped by each whole flush */
};

/* ---- Channel -------------------------------------------------------------- */
#define IP_SLOTS      4096
#define IP_SLOT_SIZE  8192
#define IP_SLOT_DATA  8000
#define IP_CHAN_SLOTS 0x10000 /* offset of slot 0 in the channel */

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
                        the translation of this key before, if not 0. a6: not
                        by users' bindings, if the key has IP_KEY_ONE. data:
                        len/8 guest pages newly translated from */
    IP_R_INVALIDATE, /* a0 = addr, a1 = len: drop translations made from it;
                        a2 = enum ip_invalid; r0 = how many there were; data:
                        len/2 entries of the fast table to clear, or, r1 = 1,
                        more than IP_MAX_GONE: all */
    IP_R_FLUSH,      /* all threads are out of the cache: forget everything */
    IP_R_WATCHED,    /* a0 = page: from now on a write to it is announced by
                        IP_R_INVALIDATE before it happens; or, a1 = 1: writes
                        may come unnoticed, so blocks compare their bytes */
    IP_R_EXACT,      /* from the next flush on, translate with IP_C_EXACT */
    /* answered by Python */
    IP_R_HELLO = 64,  /* runtime is up; a0 = pid */
    IP_R_MAPPED,      /* code was mapped: a0 = addr, a1 = len, a2 = file off,
                         a3 = prot, a4 = device, a5 = inode (0: unknown), a6 =
                         a descriptor that may still be of the file, data =
                         path */
    IP_R_UNMAPPED,    /* a0 = addr, a1 = len */
    IP_R_LOADED,      /* program loaded: a0 = entry, a1 = phdr, a2 = interp base,
                         a3 = load bias of program, a4 = sp, a5 = brk base */
    IP_R_EXIT,        /* a0 = status, a6 = threads with errors disabled, a7 = pid of a
                         vfork child that ends, else 0; r0 = status to use */
    IP_R_FATAL,       /* a0 = signal, a1 = code, a2 = addr, a3 = pc, a6 and a7 as
                         for IP_R_EXIT, data = frames; reply when reported */
    IP_R_ERROR,       /* tool error, see struct ip_error in data; r0 = 1: end the
                         program with status r1 */
    IP_R_REQUEST,     /* client request: data = 6 words, then a stack trace if
                         the call stack is kept; r0 = result; the first r2
                         bytes of data: struct ip_put and its bytes, repeated */
    IP_R_FORK,        /* about to fork; fds come over the socket */
    IP_R_FORKED,      /* a0 = child pid or -errno */
    IP_R_FORK_CHILD,  /* first message of a forked child; a0 = pid */
    IP_R_EXEC,        /* data: path\0 argv\0...\0; a0 = argc, a1 = pid, a2 = vfork
                         child, a3 = the image can be followed; r0 = 1 traced
                         (new fds come over the socket), 0 native */
    IP_R_EXEC_FAILED, /* a0 = errno */
    IP_R_THREAD,      /* a0 = tid_guest, a1 = IP_THREAD_*, a2 = kernel tid, a3 = it has errors
                         disabled; data = its new name */
    IP_R_MESSAGE,     /* data = text to log; a0 = 0 plain, 1 debug */
    IP_R_INTERNAL,    /* internal fault of the runtime, already told; a0 = key of
                         the block that ran, 0 unknown */
    IP_R_FIND,        /* data = symbol name; r0 = address of that function, 0 none */
    IP_R_FINAL_CALL,  /* the program is about to end: a0 = calls made so far;
                         r0 = guest function to call before (freeres), or 0 */
    IP_R_STOPPED      /* --stop-after: a0 = key of the last block that ran,
                         a1 = where the real CPU goes on */
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
    uint64_t cpu; /* where the thread ran when it asked */
    uint64_t pad[5];
    uint8_t data[8000];
};

/* What the answer to a request writes to the client's memory. */
struct ip_put {
    uint64_t addr;
    uint64_t len; /* bytes that follow; the next one is 8-aligned */
};

struct ip_chan {
    uint32_t magic;
    uint32_t build;   /* checksum of the translator's and the runtime's sources */
    uint32_t bell_tr; /* futex: bumped when a translator request is posted */
    uint32_t bell_py; /* futex: bumped when a Python request is posted */
    uint32_t tr_sleeping, py_sleeping;
    uint32_t client_pid, supervisor_pid;
    uint32_t spin;         /* ticks to spin before futex (0: one CPU) */
    uint32_t dead;         /* supervisor set it: stop (IP_DEAD_*) */
    uint64_t config_flags; /* IP_C_* */
    uint64_t stop_after;   /* blocks, 0 = never */
    uint64_t evict;        /* drop translations every so many exits, 0 = never */
    uint64_t main_stack;   /* bytes */
    uint64_t verbosity;
    uint64_t num_callers;
    uint64_t max_stackframe; /* bytes: a greater step of RSP is a switch of stacks */
    uint64_t redzone, alignment, freelist_vol, freelist_big;
    int64_t malloc_fill, free_fill; /* -1 = none */
    uint64_t counters[16];          /* statistics written by both */
    uint64_t fast_gen;              /* bumped when the client must clear its fast table */
    uint64_t tr_cpu;                /* where the translator thread runs */
    uint64_t pend_tr[64];           /* bitmaps of slots with a posted request */
    uint64_t pend_py[64];
    uint64_t rt_symbols[32];   /* addresses the runtime publishes (IP_SYM_*) */
    uint8_t prog[4096];        /* path of the program to load */
    uint8_t stubs[4096];       /* path of the stubs image (wrappers/), or "" */
    uint64_t carried;          /* bytes at slot 1 that the runtime left for the image it executes */
    uint64_t random_registers; /* seed of the translator's choice of registers, 0: the cheapest */
    uint64_t watch_pc;         /* guest pc whose blocks call IP_SYM_WATCHED, or 0 */
    uint64_t user_bindings;    /* not 0: wrappers or replacements that are none of ours have been met */
};

#define IP_DEAD_GONE 1 /* of ip_chan.dead */
#define IP_DEAD_TOLD 2 /* it has said why */

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
#define IP_C_NO_PARTIAL_LOADS   16384    /* --partial-loads-ok=no */
#define IP_C_REALLOC_ZERO_KEEPS 32768    /* --realloc-zero-bytes-frees=no */
#define IP_C_FAR_IMAGES         131072   /* --far-images=yes */
#define IP_C_NO_GSBASE          16777216 /* --fsgsbase=no, or no FSGSBASE for programs */
#define IP_C_SMC_ALL            262144   /* --smc-check=all */
#define IP_C_PERF_MAP           8388608  /* --perf-map=yes */
#define IP_C_NO_VDSO            1048576  /* --vdso=no */
#define IP_C_FIXED_STACK        524288   /* --main-stacksize= was given */
#define IP_C_EXACT              2097152  /* a handler may look at every flag of a fault */
#define IP_C_ORIGINS            65536    /* --track-origins=yes */

/* Indices of counters (racy: statistics only). */
enum ip_counter {
    IP_N_MISSES,                /* indirect jumps that missed the fast table */
    IP_N_EXITS,                 /* other exits from translated code */
    IP_N_SLOW,                  /* slow paths: load, store, tracking helper, stack change */
    IP_N_LIGHT = IP_N_SLOW + 6, /* slow paths answered without a full exit */
    IP_N_TOOL,                  /* from here on the tool's own */
    IP_N_END = 16
};

/* Indices of rt_symbols: client addresses the emitter or Python needs. */
enum ip_sym {
    IP_SYM_EXIT,          /* jump here with tstate.exit_id set */
    IP_SYM_INDIRECT_MISS, /* jump here: guest pc in RCX, RCX and RDX in slots */
    IP_SYM_SLOW,          /* slow path of any kind (IP_XS_*), by a full exit */
    IP_SYM_SLOW_STORE,    /* the same of IP_XS_STORE; settles first stores in assembly */
    IP_SYM_SLOW_LIGHT,    /* the same of any other kind; tries shadow/fast.c with the caller-saved registers alone */
    IP_SYM_CS_SYNC,       /* call stack out of step at a ret */
    IP_SYM_MISS,          /* like INDIRECT_MISS, but always back to the dispatcher */
    IP_SYM_RED_ZONE,      /* a return with a dirty red zone */
    IP_SYM_HEAP_TABLE,    /* struct of the heap (heap/heap.h) */
    IP_SYM_SEGMENTS,      /* mapping table */
    IP_SYM_STATS,
    IP_SYM_CTX_TABLE, /* table of recorded stack traces */
    /* For the tracer of interpose/lockstep. */
    IP_SYM_ENTER_JUMP,  /* jmp into a block: registers are the guest's */
    IP_SYM_RUN_NATIVE,  /* rt_run_native(ts) */
    IP_SYM_KERNEL_INSN, /* a syscall instruction */
    IP_SYM_WATCHED,     /* called before a block at chan.watch_pc is entered */
    IP_SYM_TOOL         /* what the tool's part in the supervisor reads */
};

/* Error record, in slot.data with IP_R_ERROR. */
enum ip_errkind {
    IP_E_NONE,
    IP_E_READ,
    IP_E_WRITE,
    IP_E_JUMP,
    IP_E_VALUE,
    IP_E_COND,
    IP_E_PARAM_REG,
    IP_E_PARAM_UNADDR,
    IP_E_PARAM_UNDEF,
    IP_E_FREE,
    IP_E_MISMATCH,
    IP_E_OVERLAP,
    IP_E_FISHY,
    IP_E_REALLOC_ZERO,
    IP_E_ALIGN,
    IP_E_SIZE_ALIGN,
    IP_E_CHECK_UNADDR,
    IP_E_CHECK_UNDEF,
    IP_E_SIZE_MISMATCH,
    IP_E_ALIGN_MISMATCH,
    IP_E_MEMPOOL,
    IP_E_UNSAFE_ZERO,
    IP_E_CORE_MEM
};
struct ip_error {
    uint32_t kind; /* enum ip_errkind */
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

#endif
