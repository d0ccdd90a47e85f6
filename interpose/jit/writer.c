/* The instruction writer (Intel SDM, volume 2, chapter 2: prefixes, REX, ModRM, SIB, VEX). */
#include "jit/writer.h"

#include <string.h>

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
    if (n > w->cap - w->len) {
        w->overflow = true;
        w->len = w->cap; /* whoever writes until something is aligned comes to an end */
        return;
    }
    memcpy(w->code + w->len, bytes, n);
    w->len += n;
}

void put_u32(struct writer *w, uint32_t value) { put_bytes(w, &value, sizeof value); }
void put_u64(struct writer *w, uint64_t value) { put_bytes(w, &value, sizeof value); }

/* An instruction that is being written: in the buffer, or, where that is about to end, beside it. */
struct parts {
    uint8_t *bytes;
    unsigned n;
    uint8_t beside[16];
};

static void begin_parts(struct parts *p, const struct writer *w) {
    p->bytes = w->cap - w->len >= sizeof p->beside ? w->code + w->len : p->beside;
    p->n = 0;
}

static void end_parts(const struct parts *p, struct writer *w) {
    if (p->bytes == p->beside)
        put_bytes(w, p->bytes, p->n);
    else
        w->len += p->n;
}

static void part(struct parts *p, unsigned value) { p->bytes[p->n++] = (uint8_t)value; }

static void part_u32(struct parts *p, uint32_t value) {
    memcpy(p->bytes + p->n, &value, sizeof value);
    p->n += (unsigned)sizeof value;
}

/* ---- Parts of an encoding ------------------------------------------------------------------------------- */

static unsigned low3(int reg) { return (unsigned)reg & 7; }
static bool extended(int reg) { return reg >= 8 && reg < 16; }
static unsigned modrm(unsigned mod, unsigned reg, unsigned rm) { return mod << 6 | reg << 3 | rm; }

static unsigned sib(const struct uaddr *m, unsigned base) {
    unsigned ss = m->scale == 8 ? 3 : m->scale == 4 ? 2 : m->scale == 2 ? 1 : 0;
    return ss << 6 | (m->index == IP_REG_NONE ? RM_SIB : low3(m->index)) << 3 | base;
}

static void part_opcode(struct parts *p, unsigned opcode) {
    if (opcode >= TWO_BYTE) part(p, TWO_BYTE >> 8);
    part(p, opcode & 0xff);
}

/* ModRM, SIB and displacement.  behind: bytes that follow of the instruction, for rip-relative distances count from its
 * end.  What is at a fixed distance from FS is reached by RIP, too, which is as far below 2 GiB: a byte less, and Zen 5
 * has a load from there at once behind a store (docs/measurements.md, point 50), which it has by a base only. */
static void part_operand(struct parts *p, struct writer *w, unsigned reg, const struct uaddr *m, unsigned behind) {
    bool field = m->seg == IP_SEG_FS && m->base == IP_REG_NONE && m->index == IP_REG_NONE;
    if (m->base == IP_REG_RIP || field) {
        uint32_t target = (uint32_t)(field ? (uint64_t)m->disp : m->rip_target);
        part(p, modrm(0, reg, RM_DISP32));
        writer_moves(w, p->n, MOVED_DISTANCE);
        part_u32(p, target - (writer_here(w) + p->n + 4 + behind));
        return;
    }
    if (m->base == IP_REG_NONE) {
        part(p, modrm(0, reg, RM_SIB));
        part(p, sib(m, RM_DISP32));
        part_u32(p, (uint32_t)m->disp);
        return;
    }
    unsigned base = low3(m->base);
    bool with_sib = m->index != IP_REG_NONE || base == RM_SIB;
    bool none = m->disp == 0 && base != RM_DISP32, small = m->disp >= -128 && m->disp <= 127;
    unsigned mod = m->wide ? 2 : none ? 0 : small ? 1 : 2;
    part(p, modrm(mod, reg, with_sib ? RM_SIB : base));
    if (with_sib) part(p, sib(m, base));
    if (mod == 1)
        part(p, (unsigned)(m->disp & 0xff));
    else if (mod == 2)
        part_u32(p, (uint32_t)m->disp);
}

/* An instruction with a memory operand and imm_bytes of an immediate; reg: register or digit of the opcode. */
static void put_mem_imm(struct writer *w, int size, unsigned opcode, int reg, const struct uaddr *m, unsigned imm_bytes,
                        uint32_t imm) {
    unsigned rex = (size == 8 ? REX_W : 0) | (extended(reg) ? REX_R : 0) | (extended(m->index) ? REX_X : 0) |
                   (extended(m->base) ? REX_B : 0);
    struct parts p;
    begin_parts(&p, w);
    if (m->seg) part(&p, m->seg == IP_SEG_FS ? IP_PREFIX_FS : IP_PREFIX_GS);
    if (m->addr32) part(&p, IP_PREFIX_ADDRSIZE);
    if (size == 2) part(&p, IP_PREFIX_OPSIZE);
    if (rex) part(&p, REX | rex);
    part_opcode(&p, opcode);
    part_operand(&p, w, low3(reg), m, imm_bytes);
    if (imm_bytes) part_u32(&p, imm);
    p.n -= imm_bytes ? 4 - imm_bytes : 0;
    end_parts(&p, w);
}

static void put_mem(struct writer *w, int size, unsigned opcode, int reg, const struct uaddr *m) {
    put_mem_imm(w, size, opcode, reg, m, 0, 0);
}

/* An instruction with two registers; rm is the operand that ModRM.rm names. */
static void put_regs(struct writer *w, int size, unsigned opcode, int reg, int rm) {
    unsigned rex = (size == 8 ? REX_W : 0) | (extended(reg) ? REX_R : 0) | (extended(rm) ? REX_B : 0);
    struct parts p;
    begin_parts(&p, w);
    if (rex) part(&p, REX | rex);
    part_opcode(&p, opcode);
    part(&p, modrm(MOD_REGISTER, low3(reg), low3(rm)));
    end_parts(&p, w);
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
void put_load(struct writer *w, int size, int dst, struct uaddr m) { put_mem(w, size, 0x8b, dst, &m); }
void put_store(struct writer *w, int size, struct uaddr m, int src) { put_mem(w, size, 0x89, src, &m); }

void put_load_zx(struct writer *w, int size, int dst, struct uaddr m) {
    put_mem(w, 4, TWO_BYTE | (size == 2 ? 0xb7 : 0xb6), dst, &m);
}

void put_store_imm(struct writer *w, int size, struct uaddr m, uint32_t imm) {
    put_mem_imm(w, size, size == 1 ? 0xc6 : 0xc7, 0, &m, size > 4 ? 4 : (unsigned)size, imm);
}

void put_load_vec(struct writer *w, int dst, struct uaddr m) { put_mem(w, 4, TWO_BYTE | 0x10, dst, &m); }

void put_store_vec(struct writer *w, bool wide, struct uaddr m, int src) {
    struct parts p;
    if (!wide) {
        put_mem(w, 4, TWO_BYTE | 0x11, src, &m);
        return;
    }
    begin_parts(&p, w);
    if (m.seg) part(&p, m.seg == IP_SEG_FS ? IP_PREFIX_FS : IP_PREFIX_GS);
    part(&p, 0xc5); /* base and index below R8 */
    part(&p, (extended(src) ? 0 : 0x80u) | 0x7c);
    part(&p, 0x11);
    part_operand(&p, w, low3(src), &m, 0);
    end_parts(&p, w);
}

void put_setz(struct writer *w, struct uaddr m) { put_mem(w, 1, TWO_BYTE | 0x94, 0, &m); }

void put_push_imm(struct writer *w, uint32_t imm) {
    put_byte(w, 0x68);
    put_u32(w, imm);
}

void put_pop(struct writer *w, int dst) {
    if (extended(dst)) put_byte(w, REX | REX_B);
    put_byte(w, 0x58 | low3(dst));
}

/* ---- Addresses and arithmetic ---------------------------------------------------------------------------- */

void put_lea(struct writer *w, int size, int dst, struct uaddr m) { put_mem(w, size, 0x8d, dst, &m); }

void put_or(struct writer *w, int size, int dst, struct uaddr m) { put_mem(w, size, 0x0b, dst, &m); }
void put_not(struct writer *w, int reg) { put_regs(w, 8, 0xf7, 2, reg); }

void put_cmp_imm8(struct writer *w, int size, struct uaddr m, int imm) {
    put_mem_imm(w, size, size == 1 ? 0x80 : 0x83, 7, &m, 1, (uint32_t)imm);
}

void put_test_imm32(struct writer *w, struct uaddr m, uint32_t imm) { put_mem_imm(w, 4, 0xf7, 0, &m, 4, imm); }

void put_cmp_imm32(struct writer *w, int size, struct uaddr m, uint32_t imm) {
    put_mem_imm(w, size, 0x81, 7, &m, 4, imm);
}

void put_add_imm32(struct writer *w, int size, struct uaddr m, uint32_t imm) {
    bool small = imm + 128 < 256;
    put_mem_imm(w, size, small ? 0x83 : 0x81, 0, &m, small ? 1 : 4, imm);
}

void put_and_imm32(struct writer *w, struct uaddr m, uint32_t imm) { put_mem_imm(w, 8, 0x81, 4, &m, 4, imm); }

void put_add(struct writer *w, int dst, struct uaddr m) { put_mem(w, 8, 0x03, dst, &m); }
void put_add_to(struct writer *w, struct uaddr m, int src) { put_mem(w, 8, 0x01, src, &m); }
void put_sub(struct writer *w, int dst, struct uaddr m) { put_mem(w, 8, 0x2b, dst, &m); }
void put_cmp(struct writer *w, int reg, struct uaddr m) { put_mem(w, 8, 0x3b, reg, &m); }

void put_cmp_reg(struct writer *w, int reg, uint32_t imm) {
    put_regs(w, 4, 0x81, 7, reg);
    put_u32(w, imm);
}

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
    put_byte(w, TWO_BYTE >> 8);
    put_byte(w, 0x80u | cc);
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
    if (target - w->base >= w->cap)
        writer_moves(w, 0, MOVED_DISTANCE);
    else if (writer_is_cold(w, w->len))
        writer_moves(w, 0, MOVED_ACROSS);
    put_u32(w, target - (writer_here(w) + 4));
}

void put_jmp_mem(struct writer *w, struct uaddr m) { put_mem(w, 4, 0xff, 4, &m); }

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
    uint32_t distance = writer_here(w) - (writer_at(w, at) + 4);
    if (w->overflow) return;
    if (writer_is_cold(w, w->len) && !writer_is_cold(w, at)) writer_moves_at(w, at, MOVED_ACROSS);
    memcpy(w->code + at, &distance, sizeof distance);
}

void writer_bind_address(struct writer *w, uint32_t at) {
    uint32_t address = writer_here(w);
    if (!w->overflow) memcpy(w->code + at, &address, sizeof address);
}

void writer_bind8(struct writer *w, uint32_t at) {
    if (!w->overflow) w->code[at] = (uint8_t)(w->len - (at + 1));
}
