/* Byte-level x86-64 writer of stage 6. */
#ifndef INTERPOSE_ASM_H
#define INTERPOSE_ASM_H

#include <string.h>

#include "abi/abi.h"
#include "jit/ucode.h"

struct writer {
    struct emitted *e;
    const struct ublock *b;
    const struct ip_jit_opts *o;
    uint32_t host;
};

static inline uint32_t w_here(const struct writer *w) { return w->host + w->e->len; }

static inline void w1(struct writer *w, unsigned v) {
    struct emitted *e = w->e;
    if (e->len >= EM_MAX_CODE) {
        e->overflow = true;
        return;
    }
    e->code[e->len++] = (uint8_t)v;
}
static inline void w4(struct writer *w, uint32_t v) {
    for (int i = 0; i < 4; i++) w1(w, v >> (8 * i) & 0xff);
}
static inline void w8(struct writer *w, uint64_t v) {
    w4(w, (uint32_t)v);
    w4(w, (uint32_t)(v >> 32));
}
static inline void wn(struct writer *w, const void *p, unsigned n) {
    for (unsigned i = 0; i < n; i++) w1(w, ((const uint8_t *)p)[i]);
}

/* fs:[off], one register; op is the opcode byte, 64-bit operand size. */
static inline void w_fs(struct writer *w, unsigned op, int reg, uint32_t off) {
    w1(w, 0x64);
    w1(w, 0x48 | (reg >= 8 ? 4 : 0));
    w1(w, op);
    w1(w, 0x04 | (reg & 7) << 3);
    w1(w, 0x25);
    w4(w, off);
}
static inline void w_fs32(struct writer *w, unsigned op, int reg, uint32_t off) {
    w1(w, 0x64);
    if (reg >= 8) w1(w, 0x44);
    w1(w, op);
    w1(w, 0x04 | (reg & 7) << 3);
    w1(w, 0x25);
    w4(w, off);
}
#define FS_STORE 0x89
#define FS_LOAD  0x8b
/* mov qword fs:[off], simm32 and mov dword fs:[off], imm32 */
static inline void w_fs_imm64(struct writer *w, uint32_t off, uint32_t imm) {
    wn(w, "\x64\x48\xc7\x04\x25", 5);
    w4(w, off);
    w4(w, imm);
}
static inline void w_fs_imm32(struct writer *w, uint32_t off, uint32_t imm) {
    wn(w, "\x64\xc7\x04\x25", 4);
    w4(w, off);
    w4(w, imm);
}

/* jmp rel32 to a fixed host address. */
static inline void w_jmp(struct writer *w, uint32_t to) {
    w1(w, 0xe9);
    w4(w, to - (w_here(w) + 4));
}

/* ModRM, SIB and displacement for reg, [m + add]; imm_after: bytes of the
 * instruction that follow (rip-relative counts from its end). */
static inline void w_modrm(struct writer *w, int reg, const struct uaddr *m, int64_t add, int imm_after) {
    unsigned r = (unsigned)(reg & 7) << 3;
    int64_t d = m->disp + add;
    if (m->base == IP_REG_RIP) {
        w1(w, 0x05 | r);
        w4(w, (uint32_t)(m->rip_target + (uint64_t)add) - (w_here(w) + 4 + (uint32_t)imm_after));
        return;
    }
    if (m->base == IP_REG_NONE) {
        w1(w, 0x04 | r);
        unsigned ss = m->scale == 8 ? 3 : m->scale == 4 ? 2 : m->scale == 2 ? 1 : 0;
        w1(w, (m->index == IP_REG_NONE ? 0x20 : (unsigned)(m->index & 7) << 3) | 5 | ss << 6);
        w4(w, (uint32_t)d);
        return;
    }
    bool sib = m->index != IP_REG_NONE || (m->base & 7) == 4;
    unsigned mod = d == 0 && (m->base & 7) != 5 ? 0 : d >= -128 && d <= 127 ? 1 : 2;
    w1(w, mod << 6 | r | (sib ? 4u : (unsigned)(m->base & 7)));
    if (sib) {
        unsigned ss = m->scale == 8 ? 3 : m->scale == 4 ? 2 : m->scale == 2 ? 1 : 0;
        w1(w, ss << 6 | (m->index == IP_REG_NONE ? 4u : (unsigned)(m->index & 7)) << 3 | (unsigned)(m->base & 7));
    }
    if (mod == 1)
        w1(w, (unsigned)(d & 0xff));
    else if (mod == 2)
        w4(w, (uint32_t)d);
}

/* [seg] [67] [66] [REX] op reg, [m + add].  size selects 66/REX.W; op2 != 0
 * emits 0F op2.  byte_reg forces REX for sil.. when needed. */
static inline void w_op_mem(struct writer *w, int seg_prefix, int size, unsigned op, unsigned op2, int reg,
                            const struct uaddr *m, int64_t add, int imm_after) {
    if (seg_prefix) w1(w, (unsigned)seg_prefix);
    if (m->addr32) w1(w, 0x67);
    if (size == 2) w1(w, 0x66);
    unsigned rex = (size == 8 ? 8u : 0) | (reg >= 8 ? 4u : 0) |
                   (m->index != IP_REG_NONE && m->index >= 8 && m->index < 16 ? 2u : 0) |
                   (m->base < 16 && m->base >= 8 ? 1u : 0);
    if (rex) w1(w, 0x40 | rex);
    w1(w, op);
    if (op == 0x0f) w1(w, op2);
    w_modrm(w, reg, m, add, imm_after);
}

/* mov r64, [m] without segment */
static inline void w_load(struct writer *w, int reg, const struct uaddr *m) {
    w_op_mem(w, 0, 8, 0x8b, 0, reg, m, 0, 0);
}
static inline void w_lea(struct writer *w, int reg, const struct uaddr *m) { w_op_mem(w, 0, 8, 0x8d, 0, reg, m, 0, 0); }
static inline void w_mov_rr(struct writer *w, int dst, int src) {
    w1(w, 0x48 | (src >= 8 ? 4 : 0) | (dst >= 8 ? 1 : 0));
    w1(w, 0x89);
    w1(w, 0xc0 | (unsigned)(src & 7) << 3 | (unsigned)(dst & 7));
}
static inline void w_mov_imm(struct writer *w, int dst, uint64_t v) {
    if (v <= 0xffffffffull) {
        if (dst >= 8) w1(w, 0x41);
        w1(w, 0xb8 | (unsigned)(dst & 7));
        w4(w, (uint32_t)v);
    } else {
        w1(w, 0x48 | (dst >= 8 ? 1 : 0));
        w1(w, 0xb8 | (unsigned)(dst & 7));
        w8(w, v);
    }
}

#define GS 0x65

static inline void w_wrgsbase(struct writer *w, int reg) {
    w1(w, 0xf3);
    w1(w, 0x48 | (reg >= 8 ? 1 : 0));
    w1(w, 0x0f);
    w1(w, 0xae);
    w1(w, 0xd8 | (unsigned)(reg & 7));
}

/* copy.c: the guest instruction itself, its memory operand replaced by
 * [temp] when temp != IP_REG_NONE. */
void ip_copy_insn(struct writer *w, const struct ip_insn *in, int temp);
/* The same with a gs: prefix in place of its fs: or gs: one. */
void ip_copy_gs(struct writer *w, const struct ip_insn *in);
/* recheck.c: compare the block's bytes with those in memory; to offset changed
 * when they differ.  RCX and RDX are free. */
void ip_emit_recheck(struct writer *w, uint32_t changed);

#endif
