/* Stage 6, the guards of tracking translations: sums, logic, products, shifts and moves of general registers, which the
 * runtime's assembly settles (shadow/arith.inc) where nobody reads the flags that they leave, and of vectors
 * (shadow/arith_vec.inc). */
#include "jit/emit.h"
#include "jit/x86_decode.h"

struct arith {
    unsigned entry;          /* IP_AR_* */
    unsigned dst, number_of; /* registers: the result's, and the one that RCX has the number of */
    bool reads_dst, by_number, in_memory;
    uint64_t imm;    /* in RCX, unless it has something else */
    uint64_t addend; /* with `adds`: in acc_addr */
    bool adds, indexed;
    unsigned index, shift; /* a register, and by how much it is shifted */
};

static bool is_gpr(const struct ip_operand *op) { return op->kind == IP_OP_GPR && !op->high8; }
static uint64_t low(uint64_t v, unsigned n) { return n >= 8 ? v : v & ((1ull << 8 * n) - 1); }

static bool size_index(unsigned n, unsigned *i) {
    *i = n == 8 ? 2 : n == 4 ? 1 : 0;
    return n == 1 || n == 4 || n == 8;
}

static void by_register(struct arith *a, unsigned reg) {
    a->number_of = reg;
    a->by_number = true;
}

/* The second operand: its form. */
static bool second(struct arith *a, const struct ip_insn *in, const struct ip_operand *s, unsigned n,
                   enum ip_arith_form *form) {
    if (s->kind == IP_OP_IMM) {
        *form = IP_AR_NUMBER;
        a->imm = low((uint64_t)in->imm, n);
        return true;
    }
    if (s->size != n) return false;
    if (s->kind == IP_OP_MEM) {
        const struct ip_mem *m = &in->mem;
        *form = IP_AR_MEM;
        a->in_memory = true;
        return !m->seg && !m->addr32 && !m->vsib && !m->bcast;
    }
    *form = IP_AR_REG;
    by_register(a, s->reg);
    return is_gpr(s);
}

static bool alu(struct arith *a, const struct ip_insn *in, enum ip_arith_op op) {
    const struct ip_operand *d = &in->ops[0], *s = &in->ops[1];
    enum ip_arith_form form;
    unsigned size;
    if (in->n_ops != 2 || !size_index(d->size, &size) || !second(a, in, s, d->size, &form)) return false;
    a->reads_dst = true;
    if (form == IP_AR_REG && s->reg == d->reg) {
        if (op == IP_AR_SUB || op == IP_AR_XOR) return false; /* zero, whatever it holds */
        if (op == IP_AR_ADD) {                                /* a shift: one bit's two places are alike */
            a->by_number = false;
            a->imm = 1;
            a->entry = IP_AR_SHIFT + IP_AR_SIZES * IP_AR_SHL + size;
            return true;
        }
    }
    a->entry = (op * IP_AR_FORMS + form) * IP_AR_SIZES + size;
    return true;
}

static bool step(struct arith *a, const struct ip_insn *in, enum ip_arith_op op) {
    unsigned size;
    if (!size_index(in->ops[0].size, &size)) return false;
    a->reads_dst = true;
    a->imm = 1;
    a->entry = (op * IP_AR_FORMS + IP_AR_NUMBER) * IP_AR_SIZES + size;
    return true;
}

static bool multiply(struct arith *a, const struct ip_insn *in) {
    const struct ip_operand *d = &in->ops[0];
    enum ip_arith_form form;
    if (in->n_ops < 2 || d->size < 4) return false;
    if (in->n_ops == 3) {
        if (!is_gpr(&in->ops[1]) || in->ops[2].kind != IP_OP_IMM) return false;
        form = IP_AR_NUMBER;
        by_register(a, in->ops[1].reg);
        a->adds = true;
        a->addend = low((uint64_t)in->imm, d->size);
    } else {
        if (!second(a, in, &in->ops[1], d->size, &form) || form == IP_AR_NUMBER) return false;
        a->reads_dst = true;
    }
    a->entry = IP_AR_IMUL + 2u * form + (d->size == 8);
    return true;
}

static bool shift(struct arith *a, const struct ip_insn *in, enum ip_arith_shift op) {
    unsigned size, n = in->ops[0].size;
    if (!size_index(n, &size) || in->n_ops > 2) return false;
    if (in->n_ops == 2 && in->ops[1].kind != IP_OP_IMM) return false;
    a->imm = in->n_ops == 2 ? (uint64_t)in->imm & (n == 8 ? 63 : 31) : 1;
    a->reads_dst = true;
    a->entry = IP_AR_SHIFT + IP_AR_SIZES * op + size;
    return a->imm;
}

static bool negate(struct arith *a, const struct ip_insn *in) {
    unsigned size;
    if (!size_index(in->ops[0].size, &size)) return false;
    a->reads_dst = true;
    a->entry = IP_AR_NEG + size;
    return true;
}

static bool copy(struct arith *a, const struct ip_insn *in, enum ip_arith_copy how) {
    if (in->n_ops != 2 || !is_gpr(&in->ops[1]) || how == IP_AR_COPY_END) return false;
    by_register(a, in->ops[1].reg);
    a->entry = IP_AR_COPY + how;
    return true;
}

static enum ip_arith_copy extension(const struct ip_insn *in, bool sign) {
    unsigned from = in->ops[1].size, to = in->ops[0].size;
    if (to < 4) return IP_AR_COPY_END;
    if (!sign) return from == 1 ? IP_AR_ZX1 : from == 2 ? IP_AR_ZX2 : IP_AR_COPY_END;
    switch (from) {
    case 1: return to == 8 ? IP_AR_SX1_8 : IP_AR_SX1_4;
    case 2: return to == 8 ? IP_AR_SX2_8 : IP_AR_SX2_4;
    case 4: return to == 8 ? IP_AR_SX4_8 : IP_AR_MOV4;
    default: return IP_AR_COPY_END;
    }
}

static enum ip_arith_copy whole(unsigned n) {
    return n == 8 ? IP_AR_MOV8 : n == 4 ? IP_AR_MOV4 : n == 1 ? IP_AR_MOV1 : IP_AR_COPY_END;
}

static bool sum(struct arith *a, const struct ip_insn *in) {
    const struct ip_mem *m = &in->mem;
    unsigned n = in->ops[0].size;
    if (m->base >= 16 || (m->base == m->index && m->scale == 1) || m->addr32 || n < 4) return false;
    by_register(a, m->base);
    a->adds = true;
    a->addend = (uint64_t)m->disp;
    a->entry = IP_AR_LEA + (n == 8);
    if (m->index >= 16) return true;
    a->indexed = true;
    a->index = m->index;
    a->shift = m->scale == 8 ? 3 : m->scale == 4 ? 2 : m->scale == 2 ? 1 : 0;
    a->entry += 2;
    return true;
}

/* What leaves the flags alone, and what nobody reads the flags of: is it one of these? */
static bool settled(struct arith *a, const struct em *m, int insn) {
    const struct ip_insn *in = &m->b->insn[insn];
    const struct ip_operand *d = &in->ops[0];
    if (in->flow != IP_F_NEXT || !in->n_ops || !is_gpr(d) || d->reg == IP_RSP) return false;
    a->dst = d->reg;
    switch (in->mnem) {
    case IP_MN_MOV: return copy(a, in, whole(d->size));
    case IP_MN_MOVZX: return copy(a, in, extension(in, false));
    case IP_MN_MOVSX:
    case IP_MN_MOVSXD: return copy(a, in, extension(in, true));
    case IP_MN_LEA: return sum(a, in);
    case IP_MN_NOT:
        by_register(a, d->reg);
        a->entry = IP_AR_COPY + whole(d->size);
        return d->size >= 4;
    default: break;
    }
    /* Those of before live only where the handler of this instruction's fault is to find them (IP_C_EXACT). */
    if (m->b->fl_live_before[insn] || m->b->fl_live_before[insn + 1] || in->lock) return false;
    switch (in->mnem) {
    case IP_MN_ADD: return alu(a, in, IP_AR_ADD);
    case IP_MN_SUB: return alu(a, in, IP_AR_SUB);
    case IP_MN_AND: return alu(a, in, IP_AR_AND);
    case IP_MN_OR: return alu(a, in, IP_AR_OR);
    case IP_MN_XOR: return alu(a, in, IP_AR_XOR);
    case IP_MN_INC: return step(a, in, IP_AR_ADD);
    case IP_MN_DEC: return step(a, in, IP_AR_SUB);
    case IP_MN_NEG: return negate(a, in);
    case IP_MN_IMUL: return multiply(a, in);
    case IP_MN_SHL: return shift(a, in, IP_AR_SHL);
    case IP_MN_SHR: return shift(a, in, IP_AR_SHR);
    case IP_MN_SAR: return shift(a, in, IP_AR_SAR);
    case IP_MN_ROL: return shift(a, in, IP_AR_ROL);
    case IP_MN_ROR: return shift(a, in, IP_AR_ROR);
    default: return false;
    }
}

/* ---- Vectors ------------------------------------------------------------------------------------------------------
 */

struct vector {
    unsigned entry;
    unsigned dst, first, second; /* registers */
    bool in_memory, wide, clear, values;
    bool moves_bits; /* it does to V bits what it does to values */
};

static bool is_vec(const struct ip_operand *op, unsigned size) {
    return op->kind == IP_OP_VEC && op->reg < 16 && op->size >= size;
}

/* The destination and both sources; size: of the second one. */
static bool sources(struct vector *v, const struct ip_insn *in, unsigned size) {
    const struct ip_mem *m = &in->mem;
    bool legacy = in->enc == IP_ENC_LEGACY;
    const struct ip_operand *d = &in->ops[0], *a = &in->ops[legacy ? 0 : 1], *b = &in->ops[legacy ? 1 : 2];
    if (in->n_ops != (legacy ? 2 : 3) || (!legacy && in->enc != IP_ENC_VEX) || !is_vec(d, 16) || !is_vec(a, 16))
        return false;
    v->dst = d->reg;
    v->first = a->reg;
    v->clear = !legacy;
    if (b->kind == IP_OP_MEM) {
        v->in_memory = true;
        return b->size == size && !m->seg && !m->addr32 && !m->vsib && !m->bcast;
    }
    v->second = b->reg;
    return is_vec(b, size);
}

static bool packed(struct vector *v, const struct ip_insn *in, enum ip_arith_vec op) {
    unsigned size = in->ops[0].size;
    if ((size != 16 && size != 32) || !sources(v, in, size)) return false;
    bool logic = op == IP_AR_VAND || op == IP_AR_VOR || op == IP_AR_VANDN;
    if (!v->in_memory && v->first == v->second && op != IP_AR_VAND && op != IP_AR_VOR)
        return false; /* zero, or a shift */
    v->wide = size == 32;
    v->values = logic || op >= IP_AR_ADDB;
    v->entry = IP_AR_VEC + 3 * op + (!v->in_memory ? 0 : v->wide ? 2 : 1);
    return true;
}

static bool scalar(struct vector *v, const struct ip_insn *in, unsigned size) {
    if (!sources(v, in, size)) return false;
    v->entry = IP_AR_LOW + (v->in_memory ? 2 : 0) + (size == 8);
    return true;
}

static bool copied(struct vector *v, const struct ip_insn *in) {
    const struct ip_operand *d = &in->ops[0], *s = &in->ops[1];
    if (in->n_ops != 2 || (d->size != 16 && d->size != 32) || !is_vec(d, 16) || !is_vec(s, d->size)) return false;
    if (in->enc != IP_ENC_LEGACY && in->enc != IP_ENC_VEX) return false;
    v->dst = d->reg;
    v->first = v->second = s->reg;
    v->wide = d->size == 32;
    v->clear = in->enc != IP_ENC_LEGACY;
    v->entry = IP_AR_VEC + 3 * IP_AR_VMOV;
    return true;
}

/* One or two registers of 16 bytes, and perhaps a number. */
static bool permuted(struct vector *v, const struct ip_insn *in) {
    unsigned n = in->n_ops - (in->ops[in->n_ops - 1].kind == IP_OP_IMM);
    if ((in->enc != IP_ENC_LEGACY && in->enc != IP_ENC_VEX) || n < 1 || n > 3) return false;
    for (unsigned i = 0; i < n; i++)
        if (in->ops[i].kind != IP_OP_VEC || in->ops[i].reg >= 16 || in->ops[i].size > 16) return false;
    v->dst = in->ops[0].reg;
    v->first = n == 3 ? in->ops[1].reg : (in->vec_read >> v->dst & 1) ? v->dst : in->ops[n - 1].reg;
    v->second = in->ops[n - 1].reg;
    v->clear = in->enc != IP_ENC_LEGACY;
    v->moves_bits = true;
    v->entry = IP_AR_MOVED;
    return in->vec_write == 1u << v->dst && !(in->vec_read & ~(1u << v->first | 1u << v->second));
}

/* clang-format off */
#define BOTH(name) case IP_MN_##name: case IP_MN_V##name
#define PACKED(name, op) BOTH(name): return packed(v, in, op)
#define FLOATS(name)                                                                                                   \
    BOTH(name##SS): return scalar(v, in, 4);                                                                           \
    BOTH(name##SD): return scalar(v, in, 8);                                                                           \
    PACKED(name##PS, IP_AR_CAST4);                                                                                     \
    PACKED(name##PD, IP_AR_CAST8)

static bool settled_vector(struct vector *v, const struct ip_insn *in) {
    if (in->flow != IP_F_NEXT || in->n_ops < 2 || in->evex_k || in->mmx_read || in->mmx_write) return false;
    if (ip_moves_vector(in->mnem)) return copied(v, in);
    switch (in->mnem) {
    PACKED(PXOR, IP_AR_VXOR);
    PACKED(XORPS, IP_AR_VXOR);
    PACKED(XORPD, IP_AR_VXOR);
    PACKED(PAND, IP_AR_VAND);
    PACKED(ANDPS, IP_AR_VAND);
    PACKED(ANDPD, IP_AR_VAND);
    PACKED(PANDN, IP_AR_VANDN);
    PACKED(ANDNPS, IP_AR_VANDN);
    PACKED(ANDNPD, IP_AR_VANDN);
    PACKED(POR, IP_AR_VOR);
    PACKED(ORPS, IP_AR_VOR);
    PACKED(ORPD, IP_AR_VOR);
    PACKED(PADDB, IP_AR_ADDB);
    PACKED(PADDW, IP_AR_ADDW);
    PACKED(PADDD, IP_AR_ADDD);
    PACKED(PADDQ, IP_AR_ADDQ);
    PACKED(PSUBB, IP_AR_SUBB);
    PACKED(PSUBW, IP_AR_SUBW);
    PACKED(PSUBD, IP_AR_SUBD);
    PACKED(PSUBQ, IP_AR_SUBQ);
    BOTH(PSHUFD):
    BOTH(PSHUFLW):
    BOTH(PSHUFHW):
    BOTH(PUNPCKLBW):
    BOTH(PUNPCKLWD):
    BOTH(PUNPCKLDQ):
    BOTH(PUNPCKLQDQ):
    BOTH(PUNPCKHBW):
    BOTH(PUNPCKHWD):
    BOTH(PUNPCKHDQ):
    BOTH(PUNPCKHQDQ):
    BOTH(UNPCKLPS):
    BOTH(UNPCKHPS):
    BOTH(UNPCKLPD):
    BOTH(UNPCKHPD):
    BOTH(SHUFPS):
    BOTH(SHUFPD):
    BOTH(PALIGNR):
    BOTH(PSLLDQ):
    BOTH(PSRLDQ):
    BOTH(MOVHLPS):
    BOTH(MOVLHPS):
    BOTH(MOVDDUP):
    BOTH(MOVSLDUP):
    BOTH(MOVSHDUP):
    BOTH(BLENDPS):
    BOTH(BLENDPD):
    BOTH(PBLENDW):
    BOTH(PMOVZXBW):
    BOTH(PMOVZXBD):
    BOTH(PMOVZXBQ):
    BOTH(PMOVZXWD):
    BOTH(PMOVZXWQ):
    BOTH(PMOVZXDQ):
    BOTH(PMOVSXBW):
    BOTH(PMOVSXBD):
    BOTH(PMOVSXBQ):
    BOTH(PMOVSXWD):
    BOTH(PMOVSXWQ):
    BOTH(PMOVSXDQ): return permuted(v, in);
    BOTH(PSLLW):
    BOTH(PSLLD):
    BOTH(PSLLQ):
    BOTH(PSRLW):
    BOTH(PSRLD):
    BOTH(PSRLQ):
    BOTH(PSRAW):
    BOTH(PSRAD): return in->ops[in->n_ops - 1].kind == IP_OP_IMM && permuted(v, in);
    FLOATS(ADD);
    FLOATS(SUB);
    FLOATS(MUL);
    FLOATS(DIV);
    FLOATS(MIN);
    FLOATS(MAX);
    default: return false;
    }
}
/* clang-format on */

/* What is in their slots already, the registers of the next guard's temporaries. */
static void save_also(struct writer *w, const struct stub *s, uint32_t regs) {
    em_save_all(w, (uint16_t)(regs | REG_BIT(IP_RCX) | REG_BIT(IP_RBX) | (s->joined & ~(uint32_t)s->spilled)));
}

static void pass_place(struct em *m, const struct ip_insn *in) {
    struct uaddr at = {0}; /* an address of an instruction has no prefix of its own */
    put_store_imm(&m->w, 4, STATE(acc_info), in->addr_read | (uint32_t)in->mem.size << IP_MOVE_REG_SHIFT);
    uaddr_from_mem(&at, &in->mem);
    em_put_operand_address(&m->w, IP_RCX, at);
}

static struct uaddr vector_slot(unsigned reg) { return state_at(offsetof(struct tstate, vecsave) + 64u * reg); }

static struct uaddr vector_bits(unsigned reg) { return state_at(offsetof(struct tstate, vvec) + 64u * reg); }

/* The instruction is carried out on V bits, in the place of the values, which then come back.  Its result goes to the
 * slot of a register that no such instruction has, for the V bits stay as they are until all else is known. */
static void move_bits(struct em *m, const struct vector *v, const struct ip_insn *in) {
    struct writer *w = &m->w;
    uint32_t used = 1u << v->dst | 1u << v->first | 1u << v->second;
    for (int r = 0; r < 16; r++)
        if (used >> r & 1) put_store_vec(w, false, vector_slot((unsigned)r), r);
    put_load_vec(w, (int)v->first, vector_bits(v->first));
    if (v->second != v->first) put_load_vec(w, (int)v->second, vector_bits(v->second));
    copy_insn(w, in, IP_REG_NONE);
    put_store_vec(w, false, vector_slot(IP_AR_RESULT), (int)v->dst);
    for (int r = 0; r < 16; r++)
        if (used >> r & 1) put_load_vec(w, r, vector_slot((unsigned)r));
}

static bool vector_operands(struct em *m, const struct stub *s, unsigned *entry) {
    struct writer *w = &m->w;
    const struct ip_insn *in = &m->b->insn[s->insn];
    struct vector v = {0};
    if (!settled_vector(&v, in)) return false;
    *entry = v.entry;
    save_also(w, s, 0);
    if (v.moves_bits) move_bits(m, &v, in);
    if (v.values) put_store_vec(w, v.wide, vector_slot(v.first), (int)v.first);
    if (v.values && !v.in_memory) put_store_vec(w, v.wide, vector_slot(v.second), (int)v.second);
    if (v.in_memory)
        pass_place(m, in);
    else
        put_mov_imm(w, IP_RCX, v.second);
    put_mov_imm(w, IP_RBX, v.dst | v.first << 8 | (v.wide ? IP_AR_WIDE : 0) | (v.clear ? IP_AR_CLEAR : 0));
    return true;
}

/* Where a register's number is told, its value is in its slot.  Nothing here alters a flag. */
bool em_arith_operands(struct em *m, const struct stub *s, unsigned *entry) {
    struct writer *w = &m->w;
    const struct ip_insn *in = &m->b->insn[s->insn];
    struct arith a = {0};
    if (!settled(&a, m, s->insn)) return vector_operands(m, s, entry);
    *entry = a.entry;
    uint32_t slots = 0;
    if (a.reads_dst) slots |= REG_BIT(a.dst);
    if (a.by_number) slots |= REG_BIT(a.number_of);
    if (a.indexed) slots |= REG_BIT(a.index);
    save_also(w, s, slots);
    if (a.adds) {
        put_store_imm(w, 4, STATE(acc_addr), (uint32_t)a.addend);
        put_store_imm(w, 4, addr_moved(STATE(acc_addr), 4), (uint32_t)(a.addend >> 32));
    }
    if (a.indexed) {
        put_store_imm(w, 4, STATE(acc_info), a.index);
        put_store_imm(w, 4, STATE(acc_kind), a.shift);
    }
    if (a.in_memory) {
        pass_place(m, in);
    } else {
        put_mov_imm(w, IP_RCX, a.by_number ? a.number_of : a.imm);
    }
    put_mov_imm(w, IP_RBX, a.dst);
    return true;
}
