/* Stage 6, guest instructions: copied byte for byte, except rip-relative
 * displacements and operands that moved to a temporary. */
#include "jit/asm.h"

static void copy_rip(struct writer *w, const struct ip_insn *in) {
    wn(w, in->bytes, in->off_disp);
    uint32_t end = w_here(w) + 4 + (uint32_t)(in->len - in->off_disp - 4);
    w4(w, (uint32_t)in->mem.rip_target - end);
    wn(w, in->bytes + in->off_disp + 4, (unsigned)(in->len - in->off_disp - 4));
}

/* Memory operand becomes [temp] (temp: rax, rcx, rdx, rbx, rsi or rdi). */
static void copy_temp(struct writer *w, const struct ip_insn *in, int temp) {
    for (int i = 0; i < in->off_rex; i++) {
        uint8_t p = in->bytes[i];
        if (p == 0x64 || p == 0x65 || p == 0x67) continue;
        if ((p & 0xf0) == 0x40) continue; /* void: a prefix follows, which may be one of those left out */
        w1(w, p);
    }
    if (in->enc == IP_ENC_LEGACY) {
        unsigned op = in->off_rex;
        if (in->rex) {
            unsigned rex = in->rex & ~(in->mem.moffs ? 7u : 3u);
            w1(w, rex);
            op++;
        }
        wn(w, in->bytes + op, (unsigned)(in->off_opcode - op));
        if (in->mem.moffs) {
            /* mov al/eax/rax, moffs64: A0..A3 become 8A/8B/88/89 */
            static const uint8_t mr[4] = {0x8a, 0x8b, 0x88, 0x89};
            w1(w, mr[in->opcode & 3]);
            w1(w, (unsigned)temp);
            return;
        }
        w1(w, in->bytes[in->off_opcode]);
    } else {
        const uint8_t *v = in->bytes + in->off_rex;
        unsigned n = (unsigned)(in->off_opcode - in->off_rex);
        /* C5 has no X and B; C4, 8F and 62 keep them inverted in byte 1. */
        if (v[0] == 0xc5) {
            wn(w, v, n);
        } else {
            w1(w, v[0]);
            w1(w, v[1] | 0x60u);
            wn(w, v + 2, n - 2);
        }
        w1(w, in->bytes[in->off_opcode]);
    }
    w1(w, (in->modrm & 0x38u) | (unsigned)temp);
    if (in->imm_len + in->imm2_len)
        wn(w, in->bytes + in->len - in->imm_len - in->imm2_len, (unsigned)(in->imm_len + in->imm2_len));
}

void ip_copy_insn(struct writer *w, const struct ip_insn *in, int temp) {
    if (temp != IP_REG_NONE)
        copy_temp(w, in, temp);
    else if (in->mem.present && in->mem.base == IP_REG_RIP && in->disp_len == 4)
        copy_rip(w, in);
    else
        wn(w, in->bytes, in->len);
}

void ip_copy_gs(struct writer *w, const struct ip_insn *in) {
    struct ip_insn g = *in;
    for (int i = 0; i < g.n_prefix; i++)
        if (g.bytes[i] == 0x64) g.bytes[i] = GS;
    ip_copy_insn(w, &g, IP_REG_NONE);
}
