/* Writes x86-64 instructions into a buffer, one word for each form of an instruction.
 *
 * It knows encodings and no engine: registers are enum ip_gpr, conditions enum ip_cc, memory operands struct
 * uaddr, sizes bytes.  The shortest encoding is chosen, except where a word or an operand (wide) tells; REX, prefixes
 * and the distance of rip-relative operands follow from the operands.  A branch whose target is not known yet
 * is "open": its word returns where the distance belongs, and writer_bind32 or writer_bind8 fills that in.
 * What does not fit sets overflow, after which nothing that was written counts.
 */
#ifndef INTERPOSE_WRITER_H
#define INTERPOSE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/x86_cpu.h"
#include "jit/address.h"

struct writer {
    uint8_t *code;
    uint32_t len, cap;
    uint32_t base; /* address of code[0] where it will run */
    /* From the offset cold on (0: all is in one piece), code runs so many bytes further on than its offset says
     * (modulo 2^32). */
    uint32_t cold, apart;
    bool overflow;
    /* Where the code says where it runs (enum writer_moved), for whoever wants to move it; NULL: nobody does. */
    uint32_t *moved;
    uint32_t n_moved, moved_cap; /* more than there is room for: not all are there */
};

/* Of 32 bits at an offset (low 16 bits): the distance to something outside, an address within the code, or the
 * distance between its two pieces. */
enum writer_moved { MOVED_DISTANCE, MOVED_ADDRESS = 0x10000, MOVED_ACROSS = 0x20000 };

/* Lengths that others rely on (distances over an instruction, fields that are patched); the tests measure them. */
enum {
    JMP_BYTES = 5,
    JMP_OPCODE_BYTES = 1,
    JCC_OPCODE_BYTES = 2,
    JMP_SHORT_BYTES = 2,
    JRCXZ_BYTES = 2,
    LEA64_WIDE_BYTES = 7,
    LOAD64_FS_BYTES = 8,
    STORE_IMM32_FS_BYTES = 11,
    MOV64_BYTES = 10 /* of more than 32 bits */
};
#define JRCXZ_OPCODE 0xe3

/* ---- Data ------------------------------------------------------------------------------------------------ */
void put_byte(struct writer *w, unsigned value);
void put_bytes(struct writer *w, const void *bytes, unsigned n);
void put_u32(struct writer *w, uint32_t value);
void put_u64(struct writer *w, uint64_t value);

/* ---- Moves ----------------------------------------------------------------------------------------------- */
void put_mov(struct writer *w, int dst, int src);                      /* mov r64, r64 */
void put_mov_imm(struct writer *w, int dst, uint64_t imm);             /* mov r32, imm32 or mov r64, imm64 */
void put_movzx16(struct writer *w, int dst, int src);                  /* movzx r32, r16 */
void put_load(struct writer *w, int size, int dst, struct uaddr m);    /* mov r, [m]; size 4 or 8 */
void put_load_zx(struct writer *w, int size, int dst, struct uaddr m); /* movzx r32, [m]; size 1 or 2 */
void put_store(struct writer *w, int size, struct uaddr m, int src);   /* mov [m], r; size 4 or 8 */
/* mov [m], imm; of 8 bytes: the immediate has 32 bits, sign-extended */
void put_store_imm(struct writer *w, int size, struct uaddr m, uint32_t imm);
void put_store_vec(struct writer *w, bool wide, struct uaddr m, int src); /* movups [m], xmm; wide: vmovups [m], ymm */
void put_load_vec(struct writer *w, int dst, struct uaddr m);             /* movups xmm, [m] */
void put_push_imm(struct writer *w, uint32_t imm);                        /* push imm32, sign-extended */
void put_pop(struct writer *w, int dst);

/* ---- Addresses and arithmetic ---------------------------------------------------------------------------- */
void put_lea(struct writer *w, int size, int dst, struct uaddr m);      /* size 4 or 8 */
void put_or(struct writer *w, int size, int dst, struct uaddr m);       /* or r, [m]; size 4 or 8 */
void put_not(struct writer *w, int reg);                                /* not r64: touches no flags */
void put_cmp_imm8(struct writer *w, int size, struct uaddr m, int imm); /* cmp [m], imm8 */
void put_setz(struct writer *w, struct uaddr m);                        /* byte [m] */
void put_test_imm32(struct writer *w, struct uaddr m, uint32_t imm);    /* test dword [m], imm32 */
void put_shrx(struct writer *w, int dst, int src, int count);           /* shrx r64, r64, r64 */
/* cmp [m], imm32; size 4 or 8: sign-extended */
void put_cmp_imm32(struct writer *w, int size, struct uaddr m, uint32_t imm);
/* add [m], imm32; of 8 bytes: sign-extended */
void put_add_imm32(struct writer *w, int size, struct uaddr m, uint32_t imm);
void put_and_imm32(struct writer *w, struct uaddr m, uint32_t imm); /* and qword [m], imm32, sign-extended */
void put_add(struct writer *w, int dst, struct uaddr m);            /* add r64, [m] */
void put_add_to(struct writer *w, struct uaddr m, int src);         /* add [m], r64 */
void put_sub(struct writer *w, int dst, struct uaddr m);            /* sub r64, [m] */
void put_cmp(struct writer *w, int reg, struct uaddr m);            /* cmp r64, [m] */
void put_cmp_reg(struct writer *w, int reg, uint32_t imm);          /* cmp r32, imm32 */
uint32_t put_pext_open(struct writer *w, int dst, int src);         /* pext r64, r64, [rip + open] */
void put_wrgsbase(struct writer *w, int src);                       /* wrgsbase r64 */

/* Arithmetic flags to [m], by way of RAX, and back. */
void put_save_flags(struct writer *w, struct uaddr m);
void put_load_flags(struct writer *w, struct uaddr m);

/* ---- Branches -------------------------------------------------------------------------------------------- */
void put_jmp(struct writer *w, uint32_t target);        /* jmp rel32 to an address */
void put_jmp_mem(struct writer *w, struct uaddr m);     /* jmp qword [m] */
uint32_t put_jmp_open(struct writer *w);                /* jmp rel32 */
uint32_t put_jcc_open(struct writer *w, enum ip_cc cc); /* jcc rel32 */
uint32_t put_jmp_short_open(struct writer *w);          /* jmp rel8 */
void put_jrcxz(struct writer *w, int distance);         /* jrcxz over so many bytes */
void put_xbegin(struct writer *w, int distance);        /* xbegin; the fallback is so many bytes on */
void put_nop(struct writer *w);
/* The open distance at this offset leads to where the next byte will be. */
void writer_bind32(struct writer *w, uint32_t at);
void writer_bind8(struct writer *w, uint32_t at);
/* The 32 bits at this offset are the address of the next byte. */
void writer_bind_address(struct writer *w, uint32_t at);

/* The 32 bits at an offset depend on where the code runs. */
static inline void writer_moves_at(struct writer *w, uint32_t offset, enum writer_moved what) {
    if (w->n_moved < w->moved_cap) w->moved[w->n_moved] = offset | (uint32_t)what;
    w->n_moved++;
}
/* The next 32 bits do, and ahead bytes come before them. */
static inline void writer_moves(struct writer *w, unsigned ahead, enum writer_moved what) {
    writer_moves_at(w, w->len + ahead, what);
}
static inline bool writer_is_cold(const struct writer *w, uint32_t offset) { return w->cold && offset >= w->cold; }
/* Where the code at an offset runs. */
static inline uint32_t writer_at(const struct writer *w, uint32_t offset) {
    return w->base + offset + (writer_is_cold(w, offset) ? w->apart : 0);
}
/* Address that the next byte will have. */
static inline uint32_t writer_here(const struct writer *w) { return writer_at(w, w->len); }

#endif
