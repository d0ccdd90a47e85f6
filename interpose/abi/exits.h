/* Every way out of translated code.  cffi parses this file. */
#ifndef INTERPOSE_ABI_EXITS_H
#define INTERPOSE_ABI_EXITS_H

#include <stdint.h>

/* ORDER: slow paths are counted from IP_N_SLOW on. */
#define IP_NOREDIR_R11 256 /* so that a variadic function gets its AL */
enum ip_exit_kind {
    IP_X_DIRECT,      /* to ip_exit.key; patchable jmp at ip_exit.patch */
    IP_X_SYSCALL = 2, /* syscall at key-pc; next pc = ip_exit.aux */
    IP_X_REQUEST,   /* client request marker at key-pc; next pc = key + aux; at ip_exit.patch, if not 0, the block goes
                       on with it */
    IP_X_NOREDIR,   /* call *rax without redirection; return pc = aux & 255; IP_NOREDIR_R11: call *r11 */
    IP_X_ILLEGAL,   /* undecodable: SIGILL at key-pc; aux: enum ip_illegal */
    IP_X_TRAP,      /* int3 / int1 / int n: aux = vector, length << 8,
                       IP_TRAP_INT */
    IP_X_STOP,      /* bbcount reached zero; continue natively at key-pc */
    IP_X_FAULTPC,   /* code cannot be read at key-pc: SIGSEGV */
    IP_X_SYSCALL32, /* int 0x80 */
    IP_X_FAR,       /* far transfers, and what loads or stores the selectors of
                       fs and gs: key = client address of the struct ip_insn */
    IP_X_TARGET,    /* the target of an indirect jump, call or return at key-pc,
                       in tstate.acc_addr, is none of user space: aux = enum
                       ip_jump, insn length or extra bytes of the return << 2 */
    IP_X_STALE,     /* the bytes at key's pc are not those of the block */
    IP_X_FULL,      /* the buffer of records is full; on at key */
    IP_X_BREAK,     /* a debugger's breakpoint at key */
    /* Slow-path sites: the runtime does its work and resumes at ip_exit.patch.
       LOAD, STORE: key = guest pc, aux = size, address in tstate.acc_addr.
       TRACK: key = guest pc, aux = index of the struct ip_insn among the tables' descriptions, which tells nothing of
       where it is (jit/describe.c).
       SPCHG: key = guest pc after the instruction (with IP_KEY_ONE: the new red
       zone stays as it is; with IP_KEY_BARE: RSP was loaded, not moved within
       its frame), old RSP in tstate.tmp[0]. */
    /* FPSAVE: x87 state was stored at tstate.acc_addr; aux = enum ip_x87_layout */
    /* ARRIVE: the block of the template at key begins elsewhere than in the present context.  REPEATED: of the block of
       the template at key, the instruction aux has repeated (count.h).  ADDRESSES: key = client address of the struct
       ip_insn, whose words of the run's record (trace.h) begin aux bytes before its end */
    /* WATCH: key = client address of the struct ip_insn, which is about to run while a debugger watches memory */
    /* GSBASE: the host's GS gets a base (aux): 0 ours, else the guest's (enum ip_seg) */
    IP_XS_LOAD = 64,
    IP_XS_STORE,
    IP_XS_TRACK,
    IP_XS_SPCHG,
    IP_XS_FPSAVE,
    IP_XS_GSBASE,
    IP_XS_ARRIVE,
    IP_XS_REPEATED,
    IP_XS_ADDRESSES,
    IP_XS_WATCH
};
/* What IP_SYM_MOVES settles: V bits of plain moves between a register and memory.  SX4_8: four bytes, sign-extended to
   eight; VLOAD16: the register's upper part stays, in VLOAD16_ZERO it becomes zero.  VLOAD4, VLOAD8: zero up to 16
   bytes, as VLOAD16 does beyond. */
enum ip_move {
    IP_MV_LOAD1,
    IP_MV_LOAD2,
    IP_MV_LOAD4,
    IP_MV_LOAD8,
    IP_MV_SX1_4,
    IP_MV_SX1_8,
    IP_MV_SX2_4,
    IP_MV_SX2_8,
    IP_MV_SX4_8,
    IP_MV_STORE1,
    IP_MV_STORE2,
    IP_MV_STORE4,
    IP_MV_STORE8,
    IP_MV_PUSH,
    IP_MV_VLOAD16,
    IP_MV_VLOAD16_ZERO,
    IP_MV_VLOAD32,
    IP_MV_VSTORE16,
    IP_MV_VSTORE32,
    IP_MV_VLOAD4,
    IP_MV_VLOAD8,
    IP_MV_VLOAD4_ZERO,
    IP_MV_VLOAD8_ZERO,
    IP_MV_VSTORE4,
    IP_MV_VSTORE8,
    IP_MV_NONE
};
#define IP_MOVES_STEP     16       /* bytes from one's entry to the next one's */
#define IP_MOVE_DEFINED   0xffffff /* tstate.acc_info there: bits of umask that must be clear, and above them */
#define IP_MOVE_REG_SHIFT 24       /* the register's number */
/* Entries of IP_SYM_ARITH, by operation, form and size (1, 4, 8 bytes) of the operands.  Forms: two registers; a
   register and a number; a register and memory. */
enum ip_arith_op { IP_AR_ADD, IP_AR_SUB, IP_AR_AND, IP_AR_OR, IP_AR_XOR, IP_AR_ALU_END };
enum ip_arith_form { IP_AR_REG, IP_AR_NUMBER, IP_AR_MEM, IP_AR_FORMS };
enum ip_arith_shift { IP_AR_SHL, IP_AR_SHR, IP_AR_SAR, IP_AR_ROL, IP_AR_ROR, IP_AR_SHIFTS_END };
#define IP_AR_SIZES  3
#define IP_AR_IMUL   45 /* by form and size, of 4 and 8 bytes; a number is in tstate.acc_addr, RCX is the register */
#define IP_AR_SHIFT  51 /* of a register by RCX */
#define IP_AR_NEG    66
#define IP_AR_COPY   69  /* enum ip_arith_copy */
#define IP_AR_LEA    79  /* RCX and acc_addr, of 4 and 8 bytes; the same with register acc_info shifted by acc_kind */
#define IP_AR_VEC    83  /* enum ip_arith_vec, by form: a register, 16 bytes of memory, 32; RBX: see IP_AR_WIDE */
#define IP_AR_LOW    128 /* the low element: of 4 or 8 bytes with a register's, with memory */
#define IP_AR_MOVED  132 /* the result's V bits are in the vecsave of this register: */
#define IP_AR_RESULT 31
#define IP_AR_END    133
#define IP_AR_WIDE                                                                                                     \
    0x10000 /* of RBX, beside the number of the register written and << 8 the first source's: 32 bytes, */
#define IP_AR_CLEAR 0x20000 /* zero above them */
enum ip_arith_vec {
    IP_AR_VMOV,
    IP_AR_VXOR,
    IP_AR_VAND,
    IP_AR_VANDN,
    IP_AR_VOR,
    IP_AR_CAST4,
    IP_AR_CAST8,
    IP_AR_ADDB,
    IP_AR_ADDW,
    IP_AR_ADDD,
    IP_AR_ADDQ,
    IP_AR_SUBB,
    IP_AR_SUBW,
    IP_AR_SUBD,
    IP_AR_SUBQ,
    IP_AR_VEC_END
};
enum ip_arith_copy {
    IP_AR_MOV1,
    IP_AR_MOV4,
    IP_AR_MOV8,
    IP_AR_ZX1,
    IP_AR_ZX2,
    IP_AR_SX1_4,
    IP_AR_SX1_8,
    IP_AR_SX2_4,
    IP_AR_SX2_8,
    IP_AR_SX4_8,
    IP_AR_COPY_END
};
#define IP_ARITH_STEP 16 /* bytes from one's entry to the next one's */
/* Entries of IP_SYM_STORES: for 1 << n bytes where flags are dead, the same where they are not, for any other size. */
#define IP_STORES_FLAGS 7
#define IP_STORES_ANY   14
#define IP_STORES_STEP  16 /* bytes from one entry to the next one */
enum ip_illegal { IP_ILL_UNDEFINED, IP_ILL_LONG /* over 15 bytes: #GP */, IP_ILL_SYSENTER };
enum ip_jump { IP_JUMP_JMP, IP_JUMP_CALL, IP_JUMP_RET };
/* Where a check of a clean translation leads on in the tracking one: direct exits that have no place in the table, for
 * hardly any is ever gone.  tstate.exit_id is the client address of the rel32 to patch, which this byte follows: the
 * number of the guest instruction to go on at, or that it is the block's own key. */
#define IP_CHECK_WHERE 4 /* bytes behind the rel32's beginning */
#define IP_CHECK_ENTRY 255
#define IP_TRAP_INT    0x8000 /* of IP_X_TRAP: int n, not int3 or int1 */
enum ip_x87_layout { IP_X87_FXSAVE, IP_X87_FXSAVE64, IP_X87_ENV32, IP_X87_ENV16 };
struct ip_exit {
    uint64_t key;      /* guest pc plus mode bits */
    uint32_t patch;    /* client address of the rel32 to patch, 0 if none */
    uint32_t kind_aux; /* kind in low 8 bits; aux: insn length (next = pc+aux)
                          or vector in the upper 24; of a direct one, whether it calls */
};

#endif
