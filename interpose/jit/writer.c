/* The instruction writer (Intel SDM, volume 2, chapter 2: prefixes, REX, ModRM, SIB, VEX). */
#include "jit/writer.h"

#define REX   0x40u
#define REX_W 8u
#define REX_R 4u
#define REX_X 2u
#define REX_B 1u

#define MOD_REGISTER 3u
#define RM_SIB       4u /* ModRM.rm: a SIB byte follows; SIB.index: none */
#define RM_DISP32    5u /* with mod 0.  ModRM.rm: rip-relative; SIB.base: none */

#define TWO_BYTE 0x0f00u /* of an opcode: 0F comes before it */

void put_byte(struct writer *w, unsigned value) {
    if (w->len >= w->cap) {
        w->overflow = true;
        return;
    }
    w->code[w->len++] = (uint8_t)value;
}

void put_bytes(struct writer *w, const void *bytes, unsigned n) {
    for (unsigned i = 0; i < n; i++) put_byte(w, ((const uint8_t *)bytes)[i]);
}

void put_u32(struct writer *w, uint32_t value) {
    for (int i = 0; i < 4; i++) put_byte(w, value >> (8 * i) & 0xff);
}

void put_u64(struct writer *w, uint64_t value) {
    put_u32(w, (uint32_t)value);
    put_u32(w, (uint32_t)(value >> 32));
}

/* ---- Parts of an encoding ------------------------------------------------------------------------------- */

static unsigned low3(int reg) { return (unsigned)reg & 7; }
static bool extended(int reg) { return reg >= 8 && reg < 16; }
static unsigned modrm(unsigned mod, unsigned reg, unsigned rm) { return mod << 6 | reg << 3 | rm; }

static unsigned sib(const struct uaddr *m, unsigned base) {
    unsigned ss = m->scale == 8 ? 3 : m->scale == 4 ? 2 : m->scale == 2 ? 1 : 0;
    return ss << 6 | (m->index == IP_REG_NONE ? RM_SIB : low3(m->index)) << 3 | base;
}

static void put_opcode(struct writer *w, unsigned opcode) {
    if (opcode >= TWO_BYTE) put_byte(w, TWO_BYTE >> 8);
    put_byte(w, opcode & 0xff);
}

/* ModRM, SIB and displacement.  imm_bytes: what follows of the instruction, for rip-relative distances count
 * from its end. */
static void put_operand(struct writer *w, unsigned reg, const struct uaddr *m, unsigned imm_bytes) {
    if (m->base == IP_REG_RIP) {
        put_byte(w, modrm(0, reg, RM_DISP32));
        put_u32(w, (uint32_t)m->rip_target - (writer_here(w) + 4 + imm_bytes));
        return;
    }
    if (m->base == IP_REG_NONE) {
        put_byte(w, modrm(0, reg, RM_SIB));
        put_byte(w, sib(m, RM_DISP32));
        put_u32(w, (uint32_t)m->disp);
        return;
    }
    unsigned base = low3(m->base);
    bool with_sib = m->index != IP_REG_NONE || base == RM_SIB;
    bool none = m->disp == 0 && base != RM_DISP32, small = m->disp >= -128 && m->disp <= 127;
    unsigned mod = m->wide ? 2 : none ? 0 : small ? 1 : 2;
    put_byte(w, modrm(mod, reg, with_sib ? RM_SIB : base));
    if (with_sib) put_byte(w, sib(m, base));
    if (mod == 1)
        put_byte(w, (unsigned)(m->disp & 0xff));
    else if (mod == 2)
        put_u32(w, (uint32_t)m->disp);
}

/* An instruction with a memory operand; reg: register or digit of the opcode. */
static void put_mem(struct writer *w, int size, unsigned opcode, int reg, const struct uaddr *m, unsigned imm_bytes) {
    unsigned rex = (size == 8 ? REX_W : 0) | (extended(reg) ? REX_R : 0) | (extended(m->index) ? REX_X : 0) |
                   (extended(m->base) ? REX_B : 0);
    if (m->seg) put_byte(w, m->seg == IP_SEG_FS ? IP_PREFIX_FS : IP_PREFIX_GS);
    if (m->addr32) put_byte(w, IP_PREFIX_ADDRSIZE);
    if (size == 2) put_byte(w, IP_PREFIX_OPSIZE);
    if (rex) put_byte(w, REX | rex);
    put_opcode(w, opcode);
    put_operand(w, low3(reg), m, imm_bytes);
}

/* An instruction with two registers; rm is the operand that ModRM.rm names. */
static void put_regs(struct writer *w, int size, unsigned opcode, int reg, int rm) {
    unsigned rex = (size == 8 ? REX_W : 0) | (extended(reg) ? REX_R : 0) | (extended(rm) ? REX_B : 0);
    if (rex) put_byte(w, REX | rex);
    put_opcode(w, opcode);
    put_byte(w, modrm(MOD_REGISTER, low3(reg), low3(rm)));
}

/* Three-byte VEX of map 0F38 with W = 1 and L = 0.  pp: 1 66, 2 F3, 3 F2. */
static void put_vex38(struct writer *w, int reg, int vvvv, int rm, unsigned pp) {
    put_byte(w, 0xc4);
    put_byte(w, (extended(reg) ? 0 : 0x80u) | 0x40u | (extended(rm) ? 0 : 0x20u) | 2);
    put_byte(w, 0x80u | (~(unsigned)vvvv & 15) << 3 | pp);
}

/* ---- Moves ----------------------------------------------------------------------------------------------- */

void put_mov(struct writer *w, int dst, int src) { put_regs(w, 8, 0x89, src, dst); }

void put_mov_imm(struct writer *w, int dst, uint64_t imm) {
    bool wide = imm > UINT32_MAX;
    unsigned rex = (wide ? REX_W : 0) | (extended(dst) ? REX_B : 0);
    if (rex) put_byte(w, REX | rex);
    put_byte(w, 0xb8 | low3(dst));
    if (wide)
        put_u64(w, imm);
    else
        put_u32(w, (uint32_t)imm);
}

void put_movzx16(struct writer *w, int dst, int src) { put_regs(w, 4, TWO_BYTE | 0xb7, dst, src); }
void put_xchg(struct writer *w, int reg, int other) { put_regs(w, 8, 0x87, other, reg); }
void put_load(struct writer *w, int size, int dst, struct uaddr m) { put_mem(w, size, 0x8b, dst, &m, 0); }
void put_store(struct writer *w, int size, struct uaddr m, int src) { put_mem(w, size, 0x89, src, &m, 0); }

void put_load_zx(struct writer *w, int size, int dst, struct uaddr m) {
    put_mem(w, 4, TWO_BYTE | (size == 2 ? 0xb7 : 0xb6), dst, &m, 0);
}

void put_store_imm(struct writer *w, int size, struct uaddr m, uint32_t imm) {
    unsigned n = size > 4 ? 4 : (unsigned)size;
    put_mem(w, size, size == 1 ? 0xc6 : 0xc7, 0, &m, n);
    for (unsigned i = 0; i < n; i++) put_byte(w, imm >> (8 * i) & 0xff);
}

void put_push_imm(struct writer *w, uint32_t imm) {
    put_byte(w, 0x68);
    put_u32(w, imm);
}

void put_pop(struct writer *w, int dst) {
    if (extended(dst)) put_byte(w, REX | REX_B);
    put_byte(w, 0x58 | low3(dst));
}

/* ---- Addresses and arithmetic ---------------------------------------------------------------------------- */

void put_lea(struct writer *w, int size, int dst, struct uaddr m) { put_mem(w, size, 0x8d, dst, &m, 0); }

void put_or(struct writer *w, int size, int dst, struct uaddr m) { put_mem(w, size, 0x0b, dst, &m, 0); }
void put_not(struct writer *w, int size, struct uaddr m) { put_mem(w, size, 0xf7, 2, &m, 0); }

void put_cmp_imm8(struct writer *w, int size, struct uaddr m, int imm) {
    put_mem(w, size, size == 1 ? 0x80 : 0x83, 7, &m, 1);
    put_byte(w, (unsigned)imm & 0xff);
}

void put_test_imm32(struct writer *w, struct uaddr m, uint32_t imm) {
    put_mem(w, 4, 0xf7, 0, &m, 4);
    put_u32(w, imm);
}

void put_cmp_imm32(struct writer *w, struct uaddr m, uint32_t imm) {
    put_mem(w, 4, 0x81, 7, &m, 4);
    put_u32(w, imm);
}

void put_add_imm32(struct writer *w, int size, struct uaddr m, uint32_t imm) {
    bool small = imm + 128 < 256;
    put_mem(w, size, small ? 0x83 : 0x81, 0, &m, small ? 1 : 4);
    if (small)
        put_byte(w, imm & 0xff);
    else
        put_u32(w, imm);
}

void put_add(struct writer *w, int dst, struct uaddr m) { put_mem(w, 8, 0x03, dst, &m, 0); }
void put_add_to(struct writer *w, struct uaddr m, int src) { put_mem(w, 8, 0x01, src, &m, 0); }
void put_sub(struct writer *w, int dst, struct uaddr m) { put_mem(w, 8, 0x2b, dst, &m, 0); }
void put_cmp(struct writer *w, int reg, struct uaddr m) { put_mem(w, 8, 0x3b, reg, &m, 0); }

void put_cmp_reg(struct writer *w, int reg, uint32_t imm) {
    put_regs(w, 4, 0x81, 7, reg);
    put_u32(w, imm);
}

void put_borrow(struct writer *w, int dst) { put_regs(w, 8, 0x1b, dst, dst); }

void put_shrx(struct writer *w, int dst, int src, int count) {
    put_vex38(w, dst, count, src, 3);
    put_byte(w, 0xf7);
    put_byte(w, modrm(MOD_REGISTER, low3(dst), low3(src)));
}

uint32_t put_pext_open(struct writer *w, int dst, int src) {
    put_vex38(w, dst, src, 0, 2);
    put_byte(w, 0xf5);
    put_byte(w, modrm(0, low3(dst), RM_DISP32));
    put_u32(w, 0);
    return w->len - 4;
}

void put_wrgsbase(struct writer *w, int src) {
    put_byte(w, IP_PREFIX_REP);
    put_regs(w, 8, TWO_BYTE | 0xae, 3, src);
}

void put_save_flags(struct writer *w, struct uaddr m) {
    static const uint8_t lahf_seto[] = {0x9f, 0x0f, 0x90, 0xc0};
    put_bytes(w, lahf_seto, sizeof lahf_seto);
    put_store(w, 4, m, IP_RAX);
}

/* OF comes back by an addition. */
void put_load_flags(struct writer *w, struct uaddr m) {
    static const uint8_t add_sahf[] = {0x04, 0x7f, 0x9e};
    put_load(w, 4, IP_RAX, m);
    put_bytes(w, add_sahf, sizeof add_sahf);
}

/* ---- Branches -------------------------------------------------------------------------------------------- */

uint32_t put_jmp_open(struct writer *w) {
    put_byte(w, 0xe9);
    put_u32(w, 0);
    return w->len - 4;
}

uint32_t put_jcc_open(struct writer *w, enum ip_cc cc) {
    put_opcode(w, TWO_BYTE | 0x80 | cc);
    put_u32(w, 0);
    return w->len - 4;
}

uint32_t put_jmp_short_open(struct writer *w) {
    put_byte(w, 0xeb);
    put_byte(w, 0);
    return w->len - 1;
}

void put_jmp(struct writer *w, uint32_t target) {
    put_byte(w, 0xe9);
    put_u32(w, target - (writer_here(w) + 4));
}

void put_jmp_mem(struct writer *w, struct uaddr m) { put_mem(w, 4, 0xff, 4, &m, 0); }

void put_jrcxz(struct writer *w, int distance) {
    put_byte(w, JRCXZ_OPCODE);
    put_byte(w, (unsigned)distance & 0xff);
}

void put_xbegin(struct writer *w, int distance) {
    put_byte(w, 0xc7);
    put_byte(w, 0xf8);
    put_u32(w, (uint32_t)distance);
}

void put_nop(struct writer *w) { put_byte(w, 0x90); }

void writer_bind32(struct writer *w, uint32_t at) {
    uint32_t distance = w->len - (at + 4);
    if (w->overflow) return;
    for (unsigned i = 0; i < 4; i++) w->code[at + i] = (uint8_t)(distance >> (8 * i));
}

void writer_bind8(struct writer *w, uint32_t at) {
    if (!w->overflow) w->code[at] = (uint8_t)(w->len - (at + 1));
}
