/* One decoded instruction.  Produced by the decoder (interpose/jit/x86_decode.c)
 * and read by the translator's stages and, for the tracking translation, by
 * the runtime (a copy lies in the meta memory).  cffi parses this file.
 */
#ifndef INTERPOSE_X86_INSN_H
#define INTERPOSE_X86_INSN_H

#include <stdint.h>

#pragma once
#include "abi/x86_cpu.h"

enum ip_opkind {
    IP_OP_NONE,
    IP_OP_GPR, /* reg = number; high8 set for AH,CH,DH,BH (reg 0..3) */
    IP_OP_VEC, /* reg 0..31, size 16/32/64 = register width named */
    IP_OP_K,   /* opmask */
    IP_OP_MMX,
    IP_OP_X87, /* st(reg) */
    IP_OP_SEG,
    IP_OP_CR,
    IP_OP_DR,
    IP_OP_MEM,      /* the ModRM memory operand (insn.mem) */
    IP_OP_MEM_IMPL, /* implicit memory: reg = base GPR (rsi, rdi, rsp, rbx...) */
    IP_OP_IMM,      /* value in insn.imm (second immediate: insn.imm2) */
    IP_OP_REL       /* branch target in insn.target */
};
#define IP_ACC_R    1
#define IP_ACC_W    2
#define IP_ACC_COND 4 /* performed only sometimes (cmov load, masked, rep) */
#define IP_ACC_ADDR 8 /* address only: lea, nop r/m, prefetch: no access */

struct ip_operand {
    uint8_t kind; /* enum ip_opkind */
    uint8_t reg;
    uint8_t access; /* IP_ACC_* */
    uint8_t high8;
    uint16_t size;  /* bytes read or written through this operand */
    uint16_t esize; /* element size in bytes for packed vector data, 0 unknown */
};

enum ip_flow {
    IP_F_NEXT,
    IP_F_JMP,
    IP_F_JCC,
    IP_F_CALL,
    IP_F_JMPI,
    IP_F_CALLI,
    IP_F_RET,
    IP_F_SYSCALL,
    IP_F_INT,
    IP_F_UD,
    IP_F_LOOP /* loop*, jrcxz */,
    IP_F_IRET,
    IP_F_FAR,
    IP_F_PRIV /* privileged: #GP in user mode */,
    IP_F_XBEGIN
};

/* Flag bits, as in rflags. */
#define IP_FL_CF    0x001
#define IP_FL_PF    0x004
#define IP_FL_AF    0x010
#define IP_FL_ZF    0x040
#define IP_FL_SF    0x080
#define IP_FL_DF    0x400
#define IP_FL_OF    0x800
#define IP_FL_ARITH 0x8d5

#define IP_ENC_LEGACY 0
#define IP_ENC_VEX    1
#define IP_ENC_EVEX   2
#define IP_ENC_XOP    3

#define IP_REG_NONE 0xff
#define IP_REG_RIP  0x10 /* mem.base for RIP-relative */

struct ip_mem {
    uint8_t base;    /* GPR number, IP_REG_RIP, IP_REG_NONE */
    uint8_t index;   /* GPR number, or vector register if vsib; IP_REG_NONE */
    uint8_t scale;   /* 1, 2, 4, 8 */
    uint8_t seg;     /* enum ip_seg: ds, es, cs and ss overrides count as none */
    uint8_t vsib;    /* 0, or vector width of the index (16, 32, 64) */
    uint8_t addr32;  /* 0x67: 32-bit address arithmetic */
    uint16_t size;   /* bytes accessed; for broadcast: the element */
    uint8_t access;  /* IP_ACC_* of the ModRM memory operand, 0 if none */
    uint8_t bcast;   /* EVEX.b on a memory operand */
    uint8_t moffs;   /* mov al/eax/rax, moffs64 forms: disp is absolute */
    uint8_t present; /* there is a ModRM memory operand (or moffs) */
    uint32_t pad;
    int64_t disp;        /* displacement after disp8*N scaling */
    uint64_t rip_target; /* absolute address for RIP-relative, else 0 */
};

struct ip_insn {
    uint64_t pc;
    uint8_t bytes[16];
    uint8_t len;
    uint8_t enc; /* IP_ENC_* */
    uint8_t map; /* opcode map: 0 one-byte, 1 0F, 2 0F38, 3 0F3A,
                    5, 6 EVEX maps; XOP 8..10 */
    uint8_t opcode;
    uint8_t pp;     /* mandatory prefix: 0 none, 1 66, 2 F3, 3 F2 */
    uint8_t opsize; /* integer operand size of the instruction: 1 2 4 8*/
    uint8_t vlen;   /* VEX/EVEX vector length in bytes, 0 otherwise */
    uint8_t flow;   /* enum ip_flow */
    uint8_t cc;     /* condition number for jcc, setcc, cmovcc, else 0xff */
    uint8_t rep;    /* 0, 0xf3 or 0xf2 as *repeat* prefix (string ops) */
    uint8_t lock;
    uint8_t rex;        /* the REX byte, 0 if none */
    uint8_t n_prefix;   /* bytes before REX/opcode/VEX that are prefixes */
    uint8_t off_rex;    /* offset of REX or of the VEX/EVEX/XOP payload's
                           first byte (C4/C5/62/8F); = off_opcode if none */
    uint8_t off_opcode; /* of the opcode byte itself (after 0F, 0F38 ...) */
    uint8_t off_modrm;  /* 0 if none */
    uint8_t off_sib;    /* 0 if none */
    uint8_t off_disp, disp_len;
    uint8_t off_imm, imm_len, imm2_len;
    uint8_t modrm, sib;
    uint8_t n_ops;
    uint8_t evex_k; /* opmask number used, 0 none */
    uint8_t evex_z;
    uint8_t x87;   /* instruction uses the x87 stack or state */
    uint8_t mmx;   /* uses MMX registers */
    uint16_t mnem; /* enum ip_mnem (generated): IP_MN_ADD ... */
    uint16_t form; /* row of the generated table, for names */
    struct ip_operand ops[5];
    struct ip_mem mem;
    int64_t imm; /* sign-extended as the instruction uses it */
    int64_t imm2;
    uint64_t target; /* branch target of relative forms */
    /* Registers, explicit, implicit and addressing together. */
    uint16_t gpr_read;  /* some bit of the register is read */
    uint16_t gpr_write; /* some bit may be written */
    uint16_t gpr_kill;  /* whole 64 bits written, always, (a 32-bit write
                           counts), and the old value not read */
    uint16_t addr_read; /* GPRs read to form addresses (subset of read) */
    uint32_t vec_read, vec_write, vec_kill;
    uint8_t k_read, k_write;
    uint8_t mmx_read, mmx_write;
    uint32_t fl_read;  /* IP_FL_* */
    uint32_t fl_write; /* may be written, incl. left undefined */
    uint32_t fl_kill;  /* always written (or undefined), never kept; not
                          for shifts by CL or by a count that may be 0 */
};

#endif
