/* The state of a thread: its registers, their V bits, its call stack.  Generated code and assembly rely on the
 * offsets, which runtime/base/abi_check.c asserts.  cffi parses this file. */
#ifndef INTERPOSE_ABI_TSTATE_H
#define INTERPOSE_ABI_TSTATE_H

#include <stdint.h>

#include "abi/x86_cpu.h"

/* ---- Registers --------------------------------------------------------- */
/* Bits of tstate.umask: which registers hold undefined bits. */
#define IP_U_GPR0    0 /* 16 bits */
#define IP_U_FLAGS   16
#define IP_U_K       17 /* any of k0..k7 */
#define IP_U_FSW     18 /* conditions of the x87 status word */
#define IP_U_TESTED  19 /* registers are undefined again from the end of the block on: tested_end */
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
    uint32_t exit_id;        /* 0x098: exit taken (index into exits, or a check's place), or event */
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
    uint64_t ct_turns;       /* 0x130: RCX before a repeated instruction */
    uint64_t acc_addr;       /* 0x138: access slow path: address */
    uint32_t acc_info;       /* 0x140: size | is_store << 16; of IP_SYM_MOVES: IP_MOVE_* */
    uint32_t acc_kind;       /* 0x144: of those where origins are kept, in its low byte: enum ip_move */
    uint64_t resume;         /* 0x148: host address to resume after a slow path */
    uint64_t slot;           /* 0x150: index of this thread's channel slot */
    uint64_t tid_guest;      /* 0x158: small thread number, 1 = main */
    uint64_t stack_lo;       /* 0x160: current stack region (of a tool with a shadow) */
    uint64_t stack_hi;       /* 0x168 */
    uint32_t stack_shared;   /* 0x170: that region may hold more than one stack */
    uint16_t stack_looks;    /* 0x174: IP_U_TAKES depends on what lies below RSP */
    uint16_t stack_calm;     /* 0x176: steps down in a row that have found nothing defined */
    uint64_t redzone_not_lo; /* 0x178: ~(lowest byte defined below RSP) but bit 63 (em_ret), 0 = none */
    uint16_t client_sel[2];  /* 0x180: selectors of FS and GS as the guest loaded them */
    uint32_t jump_exit;      /* 0x184: IP_C_JUMPS: IP_X_TARGET of the last indirect jump */
    uint64_t tr_ptr;         /* 0x188: where the next record goes (trace.h); bit IP_TR_FULL_BIT: no room is left */
    /* Runs counted in line (count.h). */
    uint64_t ct_base;      /* 0x190: counters of the present context, as if of word 0 */
    uint64_t ct_total[4];  /* 0x198: their sum is the instructions so far */
    uint32_t ct_where;     /* 0x1b8: which blocks are counted there */
    uint32_t ct_slow;      /* 0x1bc: IP_CT_FROZEN, IP_CT_LOOK, or 0 */
    uint64_t ct_from;      /* 0x1c0: who left the context; instructions completed << 32, 0: all */
    uint64_t ct_levels[2]; /* 0x1c8: counters of functions at the first two levels of recursion */
    uint64_t ct_top;       /* 0x1d8: newest struct ip_ct_frame */
    uint64_t ct_limit;     /* 0x1e0: the last one that there is room for; 0 with ct_slow */
    uint64_t ct_pairs;     /* 0x1e8: ways that are known, the tool's */
    uint64_t ct_popped;    /* 0x1f0: the frame that was left last, 0: none since C was there */
    uint64_t ct_mask;      /* 0x1f8: of the offset of a pair, the tool's */
    uint64_t vgpr[16];     /* 0x200: V bits of the GPRs */
    uint8_t vflags;        /* 0x280: see above */
    uint8_t pad1;
    uint16_t vfsw;              /* 0x282: V bits of the x87 status word */
    uint8_t tested_n;           /* 0x284: IP_U_TESTED: how many registers, */
    uint8_t tested_reg[3];      /* 0x285: which, */
    uint64_t vk[8];             /* 0x288: V bits of k0..k7 */
    uint64_t vmmx[8];           /* 0x2c8 */
    uint64_t tested_end;        /* 0x308: after which instruction, */
    uint64_t tested_value[3];   /* 0x310: if they still hold these, */
    uint64_t tested_u[3];       /* 0x328: and their V bits */
    uint8_t vvec[2048];         /* 0x340: V bits of zmm0..31, 64 bytes each */
    uint8_t vecsave[2048];      /* 0xb40: slow paths that need vector registers */
    uint8_t runtime_area[4096]; /* 0x1340: the runtime's own, see rt.h */
};

/* Call-stack entry: cs_top points at the newest.  above is RSP before the call: the address behind the word that holds
 * the return address.  The lowest entry is all zeros.  An entry without a return address but with an address says what
 * RSP was when a signal came whose handler runs on an alternate stack: there the frames of the entries before it begin.
 */
struct ip_csent {
    uint64_t retaddr;
    uint64_t above;
};

#endif
