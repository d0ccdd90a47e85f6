/* Tracking: moves, arithmetic, logic, stack and conditional integer instructions. */
#include "shadow/track.h"

static bool same_register(const struct ip_insn *in, unsigned i, unsigned j) {
    const struct ip_operand *a = &in->ops[i], *b = &in->ops[j];
    return a->kind == IP_OP_GPR && b->kind == IP_OP_GPR && a->reg == b->reg && a->high8 == b->high8;
}

static tkval carry_in(struct tk *t) { return (tkval){tk_flag(t, IP_FL_CF), t->ts->vflags & TK_B ? 1 : 0}; }

/* ---- moves ------------------------------------------------------------------------ */

static u64 swap_bytes(u64 u, unsigned n) {
    return n == 8 ? __builtin_bswap64(u) : n == 4 ? __builtin_bswap32((u32)u) : __builtin_bswap16((u16)u);
}

static void lea(struct tk *t) {
    const struct ip_mem *m = &t->in->mem;
    const struct tstate *ts = t->ts;
    const tkval none = {0, 0};
    tkval a = none, i = none, d = {(u64)m->disp, 0};
    u64 u;
    if (m->base < 16) a = (tkval){ts->gpr[m->base], ts->vgpr[m->base]};
    if (m->index < 16) i = (tkval){ts->gpr[m->index] * m->scale, ts->vgpr[m->index] * m->scale};
    if (m->base < 16 && m->base == m->index && m->scale == 1) {
        tk_fl_double(a, none, 8, &u);
        a = (tkval){a.v + i.v, u};
    } else {
        a = tk_sum(a, i);
    }
    u = tk_sum(a, d).u;
    tk_wr(t, 0, m->addr32 ? (u32)u : u);
}

static void exchange(struct tk *t) {
    tkval a = tk_rd(t, 0), b = tk_rd(t, 1);
    tk_wr(t, 0, b.u);
    tk_wr(t, 1, a.u);
}

/* ---- arithmetic and logic ------------------------------------------------------------- */

enum { CLEAR_CARRY = 0, WITH_CARRY = 1 };

static void add_sub(struct tk *t, bool sub, bool with_carry, bool store) {
    const struct ip_insn *in = t->in;
    unsigned n = in->ops[0].size;
    tkval c = {0, 0};
    u64 u;
    if (with_carry) c = carry_in(t);
    if (sub && same_register(in, 0, 1)) { /* 0, or -carry, whatever the register holds */
        tkval zero = {0, 0};
        u8 f = tk_fl_sub(zero, zero, c, n, &u);
        if (c.u) u = tk_mask(n);
        if (store) tk_wr(t, 0, u);
        tk_set_flags(t, f);
        return;
    }
    tkval a = tk_rd(t, 0), b = tk_rd(t, 1);
    u8 f = sub                       ? tk_fl_sub(a, b, c, n, &u)
           : same_register(in, 0, 1) ? tk_fl_double(a, c, n, &u)
                                     : tk_fl_add(a, b, c, n, &u);
    if (store) tk_wr(t, 0, u);
    tk_set_flags(t, f);
}

static void inc_dec(struct tk *t, bool sub) {
    u64 u;
    u8 f = tk_fl_step(tk_rd(t, 0), sub, t->in->ops[0].size, t->ts->vflags & TK_B, tk_flag(t, IP_FL_CF), &u);
    tk_wr(t, 0, u);
    tk_set_flags(t, f);
}

static void logic(struct tk *t, char op, bool store) {
    const struct ip_insn *in = t->in;
    unsigned n = in->ops[0].size;
    tkval r;
    if (op == '^' && same_register(in, 0, 1)) {
        tk_wr(t, 0, 0);
        tk_set_flags(t, 0);
        return;
    }
    tkval a = tk_rd(t, 0), b = tk_rd(t, 1);
    if (same_register(in, 0, 1))
        r = a;
    else
        r = op == '&' ? tk_and(a, b) : op == '|' ? tk_or(a, b) : tk_xor(a, b);
    if (store) tk_wr(t, 0, r.u);
    tk_set_flags(t, tk_fl_logic(r.v, r.u, n));
}

/* Flags of a multiplication: CF and OF; SF, ZF, PF are the CPU's choice, which
 * may be to leave them alone. */
static void mul_flags(struct tk *t, bool any) {
    u64 kept = tk_fl_word(t->ts->vflags) & (IP_FL_SF | IP_FL_ZF | IP_FL_PF);
    tk_set_flags(t, any ? TK_ALL : kept ? tk_fl_of_bits(0, kept) | TK_BE | TK_L | TK_LE : 0);
}

/* V bits of a product's low (and high) part.  An undefined bit at i of a reaches
 * only bits from i + (trailing zeros of b) on, and none above the largest product. */
u64 tk_product(tkval a, tkval b, unsigned n, u64 *high, bool is_signed) {
    u64 m = tk_mask(n);
    a.v &= m, a.u &= m, b.v &= m, b.u &= m;
    u64 amax = a.v | a.u, bmax = b.v | b.u;
    if (high) *high = 0;
    if (!(a.u | b.u) || !amax || !bmax) return 0;
    unsigned from = 128, top = 8 * n - 1;
    if (a.u) from = (unsigned)(__builtin_ctzll(a.u) + __builtin_ctzll(bmax));
    if (b.u && (unsigned)(__builtin_ctzll(b.u) + __builtin_ctzll(amax)) < from)
        from = (unsigned)(__builtin_ctzll(b.u) + __builtin_ctzll(amax));
    unsigned __int128 most = (unsigned __int128)amax * bmax, u = ~(unsigned __int128)0 << from;
    if (from >= 128) return 0;
    if (!is_signed || !high || !((amax | bmax) >> top & 1)) {
        u64 hi = (u64)(most >> 64), lo = (u64)most;
        unsigned bits = hi ? 128 - (unsigned)__builtin_clzll(hi) : 64 - (unsigned)__builtin_clzll(lo);
        if (bits < 128) u &= ((unsigned __int128)1 << bits) - 1;
    }
    if (high) *high = (u64)(u >> 8 * n) & m;
    return (u64)u & m;
}

static void mul_wide(struct tk *t, bool is_signed) {
    unsigned n = t->in->ops[0].size;
    tkval a = {t->ts->gpr[IP_RAX], t->ts->vgpr[IP_RAX]}, b = tk_rd(t, 0);
    u64 high, low = tk_product(a, b, n, &high, is_signed), m = tk_mask(n);
    u64 ax = t->ts->vgpr[IP_RAX], dx = t->ts->vgpr[IP_RDX];
    if (n == 1) {
        tk_set_gpr(t, IP_RAX, (ax & ~0xffffull) | low | high << 8);
    } else {
        tk_set_gpr(t, IP_RAX, n == 2 ? (ax & ~m) | low : low);
        tk_set_gpr(t, IP_RDX, n == 2 ? (dx & ~m) | high : high);
    }
    mul_flags(t, (a.u | b.u) & m);
}

static void imul(struct tk *t) {
    const struct ip_insn *in = t->in;
    unsigned n = in->ops[0].size;
    if (in->n_ops == 1) {
        mul_wide(t, true);
        return;
    }
    tkval a = tk_rd(t, in->n_ops - 2), b = tk_rd(t, in->n_ops - 1);
    tk_wr(t, 0, tk_product(a, b, n, NULL, true));
    mul_flags(t, (a.u | b.u) & tk_mask(n));
}

static void mulx(struct tk *t) {
    unsigned n = t->in->ops[0].size;
    tkval a = {t->ts->gpr[IP_RDX], t->ts->vgpr[IP_RDX]}, b = tk_rd(t, 2);
    u64 high, low = tk_product(a, b, n, &high, false);
    tk_wr(t, 1, low);
    tk_wr(t, 0, high); /* the high half wins when both are one register */
}

static void divide(struct tk *t) {
    unsigned n = t->in->ops[0].size;
    u64 m = tk_mask(n), ax = t->ts->vgpr[IP_RAX], dx = t->ts->vgpr[IP_RDX];
    bool any = n == 1 ? ax & 0xffff : (ax | dx) & m;
    any |= tk_rd(t, 0).u != 0;
    u64 u = any ? ~0ull : 0;
    if (n == 1) {
        tk_set_gpr(t, IP_RAX, (ax & ~0xffffull) | (u & 0xffff));
    } else {
        tk_set_gpr(t, IP_RAX, n == 2 ? (ax & ~m) | (u & m) : u & m);
        tk_set_gpr(t, IP_RDX, n == 2 ? (dx & ~m) | (u & m) : u & m);
    }
    tk_set_flags(t, any ? TK_ALL : t->ts->vflags);
}

/* ---- conditional -------------------------------------------------------------------------- */

static bool condition(struct tk *t, unsigned cc) {
    bool c = tk_flag(t, IP_FL_CF), z = tk_flag(t, IP_FL_ZF), s = tk_flag(t, IP_FL_SF);
    bool o = tk_flag(t, IP_FL_OF), p = tk_flag(t, IP_FL_PF), r;
    switch (cc >> 1) {
    case 0: r = o; break;
    case 1: r = c; break;
    case 2: r = z; break;
    case 3: r = c || z; break;
    case 4: r = s; break;
    case 5: r = p; break;
    case 6: r = s != o; break;
    default: r = z || s != o; break;
    }
    return r != (cc & 1);
}

static void cmov(struct tk *t) {
    unsigned cc = t->in->cc;
    tkval d = tk_rd(t, 0), s = tk_rd(t, 1); /* a 32-bit form always zero-extends */
    u64 u;
    if (t->ts->vflags >> (cc >> 1) & 1)
        u = d.u | s.u | (d.v ^ s.v); /* undefined where the choice matters */
    else
        u = condition(t, cc) ? s.u : d.u;
    tk_wr(t, 0, u);
}

static void cmpxchg(struct tk *t) {
    unsigned n = t->in->ops[0].size;
    u64 m = tk_mask(n), unused;
    tkval acc = {t->ts->gpr[IP_RAX] & m, t->ts->vgpr[IP_RAX] & m}, d = tk_rd(t, 0), s = tk_rd(t, 1);
    u8 f = tk_fl_sub(acc, d, (tkval){0, 0}, n, &unused);
    u64 du, au;
    if (f & TK_Z) {
        bool decided = t->in->lock; /* see cmpxchg_wide */
        du = !decided ? d.u | s.u | (d.v ^ s.v) : acc.v == d.v ? s.u : d.u;
        au = acc.u | d.u | (acc.v ^ d.v);
    } else {
        bool equal = acc.v == d.v;
        du = equal ? s.u : d.u;
        au = equal ? acc.u : d.u;
    }
    /* In 32-bit forms success leaves RAX as it is and failure zero-extends it; a
     * register destination that is not written keeps its upper half on some CPUs. */
    const struct ip_operand *op = &t->in->ops[0];
    u64 old = t->ts->vgpr[IP_RAX], upper = n == 4 ? ~m : 0;
    u64 dst_old = op->kind == IP_OP_GPR ? t->ts->vgpr[op->reg] : 0;
    u64 dst_value = op->kind == IP_OP_GPR ? t->ts->gpr[op->reg] : 0;
    bool taken = !(f & TK_Z) && acc.v == d.v;
    if (n == 8)
        tk_set_gpr(t, IP_RAX, au);
    else if (n < 4 || taken)
        tk_set_gpr(t, IP_RAX, (old & ~m) | (au & m));
    else
        tk_set_gpr(t, IP_RAX, (au & m) | (f & TK_Z ? (old | t->ts->gpr[IP_RAX]) & upper : 0));
    /* As under Valgrind, a locked one that finds another value stores nothing. */
    if (!t->in->lock || acc.v == d.v) tk_wr(t, 0, du);
    if (op->kind == IP_OP_GPR && upper && !taken)
        tk_set_gpr(t, op->reg, (du & m) | ((dst_old | (f & TK_Z ? dst_value : 0)) & upper));
    tk_set_flags(t, f);
}

/* The values decide, undefined bits in them or not, and ZF is defined: lists without locks compare a pair of pointer
 * and counter, or a structure with padding, with what they loaded before from memory that nobody wrote.  Valgrind
 * does the same, and for what a locked cmpxchg stores.  Its halves are accesses of their own, the upper
 * one first. */
static void cmpxchg_wide(struct tk *t, unsigned n) { /* n = size of one half */
    u64 at = tk_ea(t), m = tk_mask(n), d[2] = {0, 0}, du[2];
    static const u8 acc_reg[2] = {IP_RAX, IP_RDX}, new_reg[2] = {IP_RBX, IP_RCX};
    bool equal = true;
    for (unsigned i = 2; i--;) {
        tk_value(at + i * n, n, &d[i]);
        du[i] = tk_load8(t, at + i * n, n);
        equal &= (t->ts->gpr[acc_reg[i]] & m) == d[i];
    }
    if (t->told_n) t->told = at, t->told_n = 2 * n; /* what it reads and writes is one error */
    for (unsigned i = 0; i < 2; i++) {
        if (equal)
            tk_store8(t, at + i * n, n, t->ts->vgpr[new_reg[i]] & m);
        else
            tk_set_gpr(t, acc_reg[i], du[i]);
    }
    u64 fv = t->ts->rflags & ~(u64)IP_FL_ZF, fu = tk_fl_word(t->ts->vflags) & ~(u64)IP_FL_ZF;
    tk_set_flags(t, tk_fl_of_bits(fv | (equal ? IP_FL_ZF : 0), fu));
}

static void xadd(struct tk *t) {
    unsigned n = t->in->ops[0].size;
    tkval a = tk_rd(t, 0), b = tk_rd(t, 1);
    u64 u;
    u8 f = tk_fl_add(a, b, (tkval){0, 0}, n, &u);
    tk_wr(t, 1, a.u);
    tk_wr(t, 0, u);
    tk_set_flags(t, f);
}

/* ---- stack and flags ---------------------------------------------------------------------------- */

static void push(struct tk *t, u64 u) {
    const struct ip_insn *in = t->in;
    unsigned n = in->opsize == 2 ? 2 : 8;
    tk_check_gprs(t, 1u << IP_RSP, 8);
    tk_store8(t, t->ts->gpr[IP_RSP] - n, n, u);
}

static u64 pop(struct tk *t, unsigned n) {
    tk_check_gprs(t, 1u << IP_RSP, 8);
    return tk_load8(t, t->ts->gpr[IP_RSP], n);
}

static void pop_operand(struct tk *t) {
    unsigned n = t->in->opsize == 2 ? 2 : 8;
    u64 u = pop(t, n);
    if (t->in->ops[0].kind == IP_OP_MEM && t->in->mem.base == IP_RSP)
        t->ea = tk_ea(t) + n; /* the address counts from the popped RSP */
    tk_wr(t, 0, u);
}

static void set_carry(struct tk *t, bool undefined, bool value) {
    u64 v = (t->ts->rflags & ~(u64)IP_FL_CF) | (value ? IP_FL_CF : 0);
    u64 u = (tk_fl_word(t->ts->vflags) & ~(u64)IP_FL_CF) | (undefined ? IP_FL_CF : 0);
    tk_set_flags(t, tk_fl_of_bits(v, u));
}

static void flags_from(struct tk *t, u64 v, u64 u, u64 which) {
    v = (t->ts->rflags & ~which) | (v & which);
    u = (tk_fl_word(t->ts->vflags) & ~which) | (u & which);
    tk_set_flags(t, tk_fl_of_bits(v, u));
}

/* CF or OF as the carry of a second chain. */
static void add_chain(struct tk *t, u8 pair, u64 flag) {
    unsigned n = t->in->ops[0].size;
    tkval a = tk_rd(t, 0), b = tk_rd(t, 1);
    tkval c = {tk_flag(t, flag), t->ts->vflags & pair ? 1 : 0};
    u64 u, m = tk_mask(n);
    u8 f = tk_fl_add(a, b, c, n, &u);
    bool carry = (a.v + b.v + c.v) >> (n == 8 ? 63 : 32) & 1;
    if (n == 8) carry = (unsigned __int128)a.v + b.v + c.v > m;
    u64 fv = (t->ts->rflags & ~flag) | (carry ? flag : 0);
    u64 fu = (tk_fl_word(t->ts->vflags) & ~flag) | (f & TK_B ? flag : 0);
    tk_wr(t, 0, u);
    tk_set_flags(t, tk_fl_of_bits(fv, fu));
}

static void widen(struct tk *t, unsigned n) { /* cbw, cwde, cdqe: n = size of the result */
    u64 old = t->ts->vgpr[IP_RAX], u = tk_sext(old & tk_mask(n / 2), n / 2) & tk_mask(n);
    tk_set_gpr(t, IP_RAX, n == 2 ? (old & ~0xffffull) | u : u);
}

static void sign_to_dx(struct tk *t, unsigned n) { /* cwd, cdq, cqo */
    u64 u = t->ts->vgpr[IP_RAX] >> (8 * n - 1) & 1 ? tk_mask(n) : 0;
    tk_set_gpr(t, IP_RDX, n == 2 ? (t->ts->vgpr[IP_RDX] & ~0xffffull) | u : u);
}

static void set_regs(struct tk *t, u16 regs) { /* written, never from tracked inputs */
    for (unsigned r = 0; r < 16; r++)
        if (regs >> r & 1) tk_set_gpr(t, r, 0);
}

bool tk_int(struct tk *t) {
    const struct ip_insn *in = t->in;
    const struct ip_operand *op = in->ops;
    tkval x;
    if (in->cc != 0xff && in->flow == IP_F_NEXT && in->enc == IP_ENC_LEGACY) {
        if (in->n_ops == 1) /* setcc */
            tk_wr(t, 0, t->ts->vflags >> (in->cc >> 1) & 1);
        else
            cmov(t);
        return true;
    }
    switch (in->mnem) {
    case IP_MN_MOV: tk_wr(t, 0, tk_rd(t, 1).u); return true;
    case IP_MN_MOVZX: tk_wr(t, 0, tk_rd(t, 1).u); return true;
    case IP_MN_MOVSX:
    case IP_MN_MOVSXD: tk_wr(t, 0, tk_sext(tk_rd(t, 1).u, op[1].size)); return true;
    case IP_MN_MOVBE: tk_wr(t, 0, swap_bytes(tk_rd(t, 1).u, op[0].size)); return true;
    case IP_MN_MOVDIRI:
    case IP_MN_MOVNTI: tk_wr(t, 0, tk_rd(t, 1).u); return true;
    case IP_MN_BSWAP:
        if (op[0].size == 2) return false;
        tk_wr(t, 0, swap_bytes(tk_rd(t, 0).u, op[0].size));
        return true;
    case IP_MN_XCHG: exchange(t); return true;
    case IP_MN_LEA: lea(t); return true;
    case IP_MN_ADD: add_sub(t, false, CLEAR_CARRY, true); return true;
    case IP_MN_ADC: add_sub(t, false, WITH_CARRY, true); return true;
    case IP_MN_SUB: add_sub(t, true, CLEAR_CARRY, true); return true;
    case IP_MN_SBB: add_sub(t, true, WITH_CARRY, true); return true;
    case IP_MN_CMP: add_sub(t, true, CLEAR_CARRY, false); return true;
    case IP_MN_INC: inc_dec(t, false); return true;
    case IP_MN_DEC: inc_dec(t, true); return true;
    case IP_MN_NEG: {
        u64 u;
        x = tk_rd(t, 0);
        u8 f = tk_fl_sub((tkval){0, 0}, x, (tkval){0, 0}, op[0].size, &u);
        tk_wr(t, 0, u);
        tk_set_flags(t, f);
        return true;
    }
    case IP_MN_NOT: tk_wr(t, 0, tk_rd(t, 0).u); return true;
    case IP_MN_AND: logic(t, '&', true); return true;
    case IP_MN_OR: logic(t, '|', true); return true;
    case IP_MN_XOR: logic(t, '^', true); return true;
    case IP_MN_TEST: logic(t, '&', false); return true;
    case IP_MN_MUL: mul_wide(t, false); return true;
    case IP_MN_IMUL: imul(t); return true;
    case IP_MN_MULX: mulx(t); return true;
    case IP_MN_DIV:
    case IP_MN_IDIV: divide(t); return true;
    case IP_MN_ADCX: add_chain(t, TK_B, IP_FL_CF); return true;
    case IP_MN_ADOX: add_chain(t, TK_O, IP_FL_OF); return true;
    case IP_MN_CMPXCHG: cmpxchg(t); return true;
    case IP_MN_CMPXCHG8B: cmpxchg_wide(t, 4); return true;
    case IP_MN_CMPXCHG16B: cmpxchg_wide(t, 8); return true;
    case IP_MN_XADD: xadd(t); return true;
    case IP_MN_PUSH: push(t, op[0].kind == IP_OP_SEG ? 0 : tk_rd(t, 0).u); return true;
    case IP_MN_POP: pop_operand(t); return true;
    case IP_MN_PUSHFQ:
    case IP_MN_PUSHF: push(t, tk_fl_word(t->ts->vflags)); return true;
    case IP_MN_POPFQ:
    case IP_MN_POPF: {
        u64 v = 0, u = pop(t, in->opsize == 2 ? 2 : 8);
        tk_value(t->ts->gpr[IP_RSP], 2, &v);
        flags_from(t, v, u, IP_FL_ARITH);
        return true;
    }
    case IP_MN_LAHF:
        tk_set_gpr(t, IP_RAX, (t->ts->vgpr[IP_RAX] & ~0xff00ull) | (tk_fl_word(t->ts->vflags) & 0xd5) << 8);
        return true;
    case IP_MN_SAHF: flags_from(t, t->ts->gpr[IP_RAX] >> 8, t->ts->vgpr[IP_RAX] >> 8, 0xd5); return true;
    case IP_MN_CLC: set_carry(t, false, false); return true;
    case IP_MN_STC: set_carry(t, false, true); return true;
    case IP_MN_CMC: set_carry(t, t->ts->vflags & TK_B, !tk_flag(t, IP_FL_CF)); return true;
    case IP_MN_LEAVE: {
        tk_check_gprs(t, 1u << IP_RBP, 8);
        u64 u = tk_load8(t, t->ts->gpr[IP_RBP], in->opsize == 2 ? 2 : 8);
        tk_set_gpr(t, IP_RSP, 0);
        tk_set_gpr(t, IP_RBP, u);
        return true;
    }
    case IP_MN_ENTER:
        push(t, t->ts->vgpr[IP_RBP]);
        tk_set_gpr(t, IP_RBP, 0);
        return true;
    case IP_MN_CBW: widen(t, 2); return true;
    case IP_MN_CWDE: widen(t, 4); return true;
    case IP_MN_CDQE: widen(t, 8); return true;
    case IP_MN_CWD: sign_to_dx(t, 2); return true;
    case IP_MN_CDQ: sign_to_dx(t, 4); return true;
    case IP_MN_CQO: sign_to_dx(t, 8); return true;
    case IP_MN_XLATB: {
        unsigned width = in->mem.addr32 ? 4 : 8;
        u64 at = (t->ts->gpr[IP_RBX] + (t->ts->gpr[IP_RAX] & 0xff)) & tk_mask(width);
        tk_check_gprs(t, 1u << IP_RBX, width);
        if (t->ts->vgpr[IP_RAX] & 0xff) {
            tk_report_value(t, 8);
            tk_set_gpr(t, IP_RAX, t->ts->vgpr[IP_RAX] & ~0xffull);
        }
        tk_set_gpr(t, IP_RAX, (t->ts->vgpr[IP_RAX] & ~0xffull) | tk_load8(t, at + tk_seg_base(t), 1));
        return true;
    }
    case IP_MN_CPUID:
    case IP_MN_XGETBV:
    case IP_MN_RDTSC:
    case IP_MN_RDTSCP: set_regs(t, in->gpr_write); return true;
    case IP_MN_NOP:
    case IP_MN_ENDBR64:
    case IP_MN_PAUSE:
    case IP_MN_LFENCE:
    case IP_MN_MFENCE:
    case IP_MN_SFENCE:
    case IP_MN_CLD:
    case IP_MN_STD:
    case IP_MN_WAIT:
    case IP_MN_EMMS:
    case IP_MN_PREFETCHT0:
    case IP_MN_PREFETCHT1:
    case IP_MN_PREFETCHT2:
    case IP_MN_PREFETCHNTA:
    case IP_MN_PREFETCHW:
    case IP_MN_PREFETCH:
    case IP_MN_CLFLUSH:
    case IP_MN_CLFLUSHOPT:
    case IP_MN_CLWB: return true;
    default: return false;
    }
}
