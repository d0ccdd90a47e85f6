/* Guest instructions: copied byte for byte, except rip-relative displacements and operands that moved to a
 * temporary. */
#include "jit/copy.h"

/* First bytes of VEX, XOP and EVEX. */
#define VEX2 0xc5 /* has no X and B */

/* Bits of REX, and those of byte 1 after C4, 8F and 62, which are inverted. */
#define REX_X     2u
#define REX_B     1u
#define REX_R     4u
#define NOT_XB    0x60u
#define MODRM_REG 0x38u

static bool is_rex(uint8_t byte) { return (byte & 0xf0) == 0x40; }

static void copy_rip(struct writer *w, const struct ip_insn *in) {
    unsigned rest = (unsigned)(in->len - in->off_disp - 4);
    put_bytes(w, in->bytes, in->off_disp);
    writer_moves(w, 0, MOVED_DISTANCE);
    put_u32(w, (uint32_t)in->mem.rip_target - (writer_here(w) + 4 + rest));
    put_bytes(w, in->bytes + in->off_disp + 4, rest);
}

/* Prefixes but those that change the address. */
static void copy_prefixes(struct writer *w, const struct ip_insn *in) {
    for (int i = 0; i < in->off_rex; i++) {
        uint8_t p = in->bytes[i];
        if (p == IP_PREFIX_FS || p == IP_PREFIX_GS || p == IP_PREFIX_ADDRSIZE) continue;
        if (is_rex(p)) continue; /* void: a prefix follows, which may be one of those left out */
        put_byte(w, p);
    }
}

static void copy_temp(struct writer *w, const struct ip_insn *in, int temp) {
    copy_prefixes(w, in);
    if (in->enc == IP_ENC_LEGACY) {
        unsigned op = in->off_rex;
        if (in->rex) {
            put_byte(w, in->rex & ~(in->mem.moffs ? REX_R | REX_X | REX_B : REX_X | REX_B));
            op++;
        }
        put_bytes(w, in->bytes + op, (unsigned)(in->off_opcode - op));
        if (in->mem.moffs) {
            /* mov al/eax/rax, moffs64 and back: A0 to A3 become 8A, 8B, 88, 89. */
            static const uint8_t with_modrm[4] = {0x8a, 0x8b, 0x88, 0x89};
            put_byte(w, with_modrm[in->opcode & 3]);
            put_byte(w, (unsigned)temp);
            return;
        }
    } else {
        const uint8_t *v = in->bytes + in->off_rex;
        unsigned n = (unsigned)(in->off_opcode - in->off_rex);
        if (v[0] == VEX2) {
            put_bytes(w, v, n);
        } else {
            put_byte(w, v[0]);
            put_byte(w, v[1] | NOT_XB);
            put_bytes(w, v + 2, n - 2);
        }
    }
    put_byte(w, in->bytes[in->off_opcode]);
    put_byte(w, (in->modrm & MODRM_REG) | (unsigned)temp);
    unsigned imm = (unsigned)(in->imm_len + in->imm2_len);
    put_bytes(w, in->bytes + in->len - imm, imm);
}

void copy_insn(struct writer *w, const struct ip_insn *in, int temp) {
    if (temp != IP_REG_NONE)
        copy_temp(w, in, temp);
    else if (in->mem.present && in->mem.base == IP_REG_RIP && in->disp_len == 4)
        copy_rip(w, in);
    else
        put_bytes(w, in->bytes, in->len);
}

void copy_insn_gs(struct writer *w, const struct ip_insn *in) {
    struct ip_insn g = *in;
    for (int i = 0; i < g.n_prefix; i++)
        if (g.bytes[i] == IP_PREFIX_FS) g.bytes[i] = IP_PREFIX_GS;
    copy_insn(w, &g, IP_REG_NONE);
}

void copy_loop(struct writer *w, const struct ip_insn *in, int distance) {
    for (int k = 0; k < in->len - 1; k++)
        if (in->bytes[k] != IP_PREFIX_OPSIZE || k >= in->off_opcode) /* it would cut the target */
            put_byte(w, in->bytes[k]);
    put_byte(w, (unsigned)distance & 0xff);
}
