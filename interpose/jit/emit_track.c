/* Stage 6, the guards of tracking translations: what their stubs settle without the runtime's C. */
#include "abi/space.h"
#include "jit/emit.h"
#include "jit/x86_decode.h"

_Static_assert(IP_U_GPR0 == 0 && IP_U_FLAGS < 24 && IP_U_TAKES < 24, "IP_MOVE_DEFINED has the low bits of umask");

/* ---- Plain moves ------------------------------------------------------------------------------------------------- */

struct move {
    enum ip_move kind;
    unsigned reg;
    uint32_t defined; /* bits of umask that must be clear */
    struct uaddr m;
};

static bool is_gpr(const struct ip_operand *op) { return op->kind == IP_OP_GPR && !op->high8; }

static enum ip_move by_size(unsigned size, enum ip_move one) {
    return size == 1 ? one : size == 2 ? one + 1 : size == 4 ? one + 2 : size == 8 ? one + 3 : IP_MV_NONE;
}

static enum ip_move extension(unsigned from, unsigned to) {
    switch (from) {
    case 1: return to == 8 ? IP_MV_SX1_8 : IP_MV_SX1_4;
    case 2: return to == 8 ? IP_MV_SX2_8 : IP_MV_SX2_4;
    case 4: return to == 8 ? IP_MV_SX4_8 : IP_MV_LOAD4;
    default: return IP_MV_NONE;
    }
}

static enum ip_move vector_move(const struct ip_insn *in) {
    const struct ip_operand *to = &in->ops[0], *from = &in->ops[1];
    unsigned size = to->kind == IP_OP_MEM ? to->size : from->size;
    if (in->evex_k || (size != 16 && size != 32)) return IP_MV_NONE;
    if (to->kind == IP_OP_MEM)
        return from->kind != IP_OP_VEC ? IP_MV_NONE : size == 16 ? IP_MV_VSTORE16 : IP_MV_VSTORE32;
    if (to->kind != IP_OP_VEC || from->kind != IP_OP_MEM) return IP_MV_NONE;
    return size == 32 ? IP_MV_VLOAD32 : in->enc == IP_ENC_LEGACY ? IP_MV_VLOAD16 : IP_MV_VLOAD16_ZERO;
}

/* movss, movsd, movd, movq between a vector and memory. */
static enum ip_move low_move(const struct ip_insn *in, unsigned size) {
    const struct ip_operand *to = &in->ops[0], *from = &in->ops[1];
    if (in->n_ops != 2 || in->evex_k || !in->map) return IP_MV_NONE;
    if (to->kind == IP_OP_MEM)
        return from->kind != IP_OP_VEC || to->size != size ? IP_MV_NONE : size == 4 ? IP_MV_VSTORE4 : IP_MV_VSTORE8;
    if (to->kind != IP_OP_VEC || from->kind != IP_OP_MEM || from->size != size) return IP_MV_NONE;
    if (in->enc == IP_ENC_LEGACY) return size == 4 ? IP_MV_VLOAD4 : IP_MV_VLOAD8;
    return size == 4 ? IP_MV_VLOAD4_ZERO : IP_MV_VLOAD8_ZERO;
}

static enum ip_move kind_of_move(const struct ip_insn *in) {
    const struct ip_operand *to = &in->ops[0], *from = &in->ops[1];
    bool loads = in->n_ops == 2 && is_gpr(to) && to->size >= 4 && to->reg != IP_RSP && from->kind == IP_OP_MEM;
    switch (in->mnem) {
    case IP_MN_MOV:
        if (loads) return by_size(from->size, IP_MV_LOAD1);
        return to->kind == IP_OP_MEM && is_gpr(from) ? by_size(to->size, IP_MV_STORE1) : IP_MV_NONE;
    case IP_MN_MOVZX: return loads ? by_size(from->size, IP_MV_LOAD1) : IP_MV_NONE;
    case IP_MN_MOVSX:
    case IP_MN_MOVSXD: return loads ? extension(from->size, to->size) : IP_MV_NONE;
    case IP_MN_MOVSS:
    case IP_MN_VMOVSS:
    case IP_MN_MOVD:
    case IP_MN_VMOVD: return low_move(in, 4);
    case IP_MN_MOVSD:
    case IP_MN_VMOVSD:
    case IP_MN_MOVQ:
    case IP_MN_VMOVQ: return low_move(in, 8);
    default: return ip_moves_vector(in->mnem) ? vector_move(in) : IP_MV_NONE;
    }
}

static bool push_or_pop(const struct ip_insn *in, struct move *v) {
    if ((in->mnem != IP_MN_PUSH && in->mnem != IP_MN_POP) || !is_gpr(&in->ops[0]) || in->opsize == 2) return false;
    bool push = in->mnem == IP_MN_PUSH;
    v->kind = push ? IP_MV_PUSH : IP_MV_LOAD8;
    v->reg = in->ops[0].reg;
    v->m = addr_at(IP_RSP, push ? -8 : 0);
    v->defined = REG_BIT(IP_RSP) | 1u << IP_U_TAKES;
    return v->reg != IP_RSP;
}

static bool plain_move(const struct em *m, int insn, struct move *v) {
    const struct ip_insn *in = &m->b->insn[insn];
    if (in->flow != IP_F_NEXT) return false;
    if (push_or_pop(in, v)) return true;
    if (!in->mem.present || in->mem.seg || in->mem.addr32 || in->mem.vsib || in->mem.bcast) return false;
    v->kind = kind_of_move(in);
    if (v->kind == IP_MV_NONE) return false;
    v->reg = in->ops[in->ops[0].kind == IP_OP_MEM ? 1 : 0].reg;
    v->defined = in->addr_read;
    uaddr_from_mem(&v->m, &in->mem);
    return true;
}

void em_put_operand_address(struct writer *w, int dst, struct uaddr m) {
    if (m.base == IP_REG_RIP)
        put_mov_imm(w, dst, m.rip_target);
    else if (m.disp != (int32_t)m.disp) /* moffs: nothing but the address */
        put_mov_imm(w, dst, (uint64_t)m.disp);
    else
        put_address(w, dst, m);
}

static void leave_to(struct em *m, const struct stub *s, int x, uint32_t entry) {
    em_note_place(m, STATE(target), s->resume);
    em_note_exit(m, STATE(exit_id), x);
    put_jmp(&m->w, entry);
}

/* The instruction's V bits, then on at s->resume. */
void em_track_stub(struct em *m, const struct stub *s) {
    struct writer *w = &m->w;
    unsigned entry;
    struct move v = {0}; /* an address of an instruction has no prefix of its own */
    int x = em_add_exit(m, (uint64_t)s->insn, IP_XS_TRACK, 0);
    em_point(m, s->insn, s->spilled, 0);
    em_restore_all(w, s->spilled);
    if (plain_move(m, s->insn, &v)) {
        save_reg(w, IP_RCX);
        /* A later guard's temporaries are taken from their slots there, of which C would have filled all. */
        em_save_all(w, s->joined & (uint16_t)~s->spilled);
        em_put_operand_address(w, IP_RCX, v.m);
        put_store_imm(w, 4, STATE(acc_info), v.defined | (uint32_t)v.reg << IP_MOVE_REG_SHIFT);
        leave_to(m, s, x, (uint32_t)m->o->sym[IP_SYM_MOVES] + IP_MOVES_STEP * (uint32_t)v.kind);
    } else if (em_arith_operands(m, s, &entry)) {
        leave_to(m, s, x, (uint32_t)m->o->sym[IP_SYM_ARITH] + IP_ARITH_STEP * entry);
    } else {
        em_leave(m, x, IP_SYM_SLOW_LIGHT);
    }
    m->e->exits[x].patch_off = s->resume;
}

/* ---- Whatever is undefined is about to be overwritten ----------------------------------------------------------- */

#define FL_TRACKED (IP_FL_CF | IP_FL_PF | IP_FL_ZF | IP_FL_SF | IP_FL_OF)

/* Bits of umask that are of no concern to the instruction, for it does not read what it overwrites as a whole. */
static uint32_t overwritten(const struct ip_insn *in) {
    uint32_t set = (uint32_t)(in->gpr_kill & ~in->gpr_read) & ~REG_BIT(IP_RSP);
    if (in->flow != IP_F_NEXT) return 0;
    if ((in->fl_kill & FL_TRACKED) == FL_TRACKED && !(in->fl_read & IP_FL_ARITH)) set |= 1u << IP_U_FLAGS;
    return set;
}

/* A guard whose failure may mean no more than that?  It can be looked at only where flags are free. */
bool em_may_overwrite(const struct em *m, const struct uinstr *u) {
    return !u->fl_live && (u->set & overwritten(&m->b->insn[u->insn]));
}

/* If nothing else of the guard's set is undefined, what is overwritten counts as defined already, and the instruction
 * goes on behind the guard: what it computes is defined as far as its memory operand is, whose guard follows. */
void em_overwrite_stub(struct em *m, const struct stub *s) {
    struct writer *w = &m->w;
    uint32_t lost = overwritten(&m->b->insn[s->insn]) & (uint32_t)s->pc;
    uint64_t rest = s->pc & ~(uint64_t)lost;
    uint32_t undefined[2], n = 0;
    em_point(m, s->insn, s->spilled, 0);
    for (int half = 0; half < 2; half++) {
        uint32_t set = (uint32_t)(rest >> (32 * half));
        if (!set) continue;
        put_test_imm32(w, addr_moved(STATE(umask), 4 * half), set);
        undefined[n++] = put_jcc_open(w, IP_CC_NZ);
    }
    for (int r = 0; r < 16; r++)
        if (lost >> r & 1) put_store_imm(w, 8, addr_moved(STATE(vgpr), 8 * r), 0);
    if (lost >> IP_U_FLAGS & 1) put_store_imm(w, 1, STATE(vflags), 0);
    put_and_imm32(w, STATE(umask), ~lost);
    put_jmp(w, writer_at(w, s->past));
    while (n) writer_bind32(w, undefined[--n]);
    em_track_stub(m, s);
}
