/* Which registers hold what the block's bytes alone say, by the rule that Valgrind's optimiser follows: whole
 * registers, computed from such registers and immediate values within one block.  Which values they are does not matter
 * here. */
#include "jit/trace.h"
#include "jit/x86_decode.h"

/* Instructions whose result in a register is a matter of what they read; others make it unknown. */
static bool is_folded(const struct ip_insn *in) {
    switch (in->mnem) {
    case IP_MN_MOV:
    case IP_MN_MOVSX:
    case IP_MN_MOVSXD:
    case IP_MN_MOVZX:
    case IP_MN_CDQE:
    case IP_MN_CWDE:
    case IP_MN_LEA:
    case IP_MN_INC:
    case IP_MN_DEC:
    case IP_MN_ADD:
    case IP_MN_SUB:
    case IP_MN_AND:
    case IP_MN_ANDN:
    case IP_MN_OR:
    case IP_MN_XOR:
    case IP_MN_NOT:
    case IP_MN_NEG:
    case IP_MN_SHL:
    case IP_MN_SHR:
    case IP_MN_SAR:
    case IP_MN_SHLD:
    case IP_MN_SHRD:
    case IP_MN_ROL:
    case IP_MN_ROR:
    case IP_MN_BSWAP:
    case IP_MN_IMUL:
    case IP_MN_POPCNT: break;
    default: return false;
    }
    for (int k = 0; k < in->n_ops; k++) {
        int kind = in->ops[k].kind;
        if (kind != IP_OP_GPR && kind != IP_OP_IMM && kind != IP_OP_MEM) return false;
    }
    return in->opsize >= 4 && (!in->mem.present || in->mem.access & IP_ACC_ADDR);
}

/* Whatever the register held before. */
static bool ignores_old(const struct ip_insn *in) {
    const struct ip_operand *to = &in->ops[0], *from = &in->ops[1];
    if (in->n_ops != 2 || to->kind != IP_OP_GPR) return false;
    if (from->kind == IP_OP_GPR) return from->reg == to->reg && (in->mnem == IP_MN_XOR || in->mnem == IP_MN_SUB);
    if (from->kind != IP_OP_IMM) return false;
    return (in->mnem == IP_MN_AND && in->imm == 0) || (in->mnem == IP_MN_OR && in->imm == -1);
}

static uint16_t exchanged(uint16_t known, const struct ip_insn *in) {
    unsigned a = in->ops[0].reg, b = in->ops[1].reg, differ = (known >> a ^ known >> b) & 1;
    return (uint16_t)(known ^ (differ << a) ^ (differ << b));
}

uint16_t ip_constants_after(uint16_t known, const struct ip_insn *in) {
    /* Valgrind's blocks end there; cpuid is a call, behind which it looks at no register of before. */
    if (in->flow != IP_F_NEXT || in->rep || in->mnem == IP_MN_CPUID) return 0;
    if (in->mnem == IP_MN_XCHG && in->opsize >= 4 && !in->mem.present) return exchanged(known, in);
    bool reads_known = !(in->gpr_read & ~known) || ignores_old(in);
    if (is_folded(in) && reads_known) return known | in->gpr_write;
    return known & (uint16_t)~in->gpr_write;
}
