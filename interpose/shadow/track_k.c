/* Tracking: instructions on mask registers. */
#include "shadow/track.h"

static u64 get_u(struct tk *t, unsigned i, unsigned bits) {
    const struct ip_operand *op = &t->in->ops[i];
    u64 m = bits >= 64 ? ~0ull : (1ull << bits) - 1;
    switch (op->kind) {
    case IP_OP_K: return t->ts->vk[op->reg] & m;
    case IP_OP_GPR: return t->ts->vgpr[op->reg] & m;
    case IP_OP_MEM: return tk_load8(t, tk_ea(t), bits / 8) & m;
    default: return 0;
    }
}

static u64 get_v(struct tk *t, unsigned i) {
    return t->in->ops[i].kind == IP_OP_K ? tk_k_value(t, t->in->ops[i].reg) : 0;
}

static void move(struct tk *t, unsigned bits) {
    u64 u = get_u(t, 1, bits);
    if (t->in->ops[0].kind == IP_OP_K)
        tk_set_k(t, t->in->ops[0].reg, u);
    else if (t->in->ops[0].kind == IP_OP_GPR)
        tk_set_gpr(t, t->in->ops[0].reg, u);
    else
        tk_store8(t, tk_ea(t), bits / 8, u);
}

static void binary(struct tk *t, char op, unsigned bits) {
    u64 ua = get_u(t, 1, bits), ub = get_u(t, 2, bits), a = get_v(t, 1), b = get_v(t, 2), u;
    if (op == 'n') a = ~a;
    if (op == '&' || op == 'n')
        u = (ua & ub) | (ua & b) | (ub & a);
    else if (op == '|')
        u = (ua & ub) | (ua & ~b) | (ub & ~a);
    else
        u = ua | ub;
    if (t->in->ops[1].reg == t->in->ops[2].reg && (op == '^' || op == 'n')) u = 0;
    tk_set_k(t, t->in->ops[0].reg, bits >= 64 ? u : u & ((1ull << bits) - 1));
}

static void add(struct tk *t, unsigned bits) {
    const tkval none = {0, 0};
    unsigned n = bits / 8;
    tkval a = {get_v(t, 1) & tk_mask(n), get_u(t, 1, bits)}, b = {get_v(t, 2) & tk_mask(n), get_u(t, 2, bits)};
    u64 u;
    if (t->in->ops[1].reg == t->in->ops[2].reg)
        tk_fl_double(a, none, n, &u);
    else
        tk_fl_add(a, b, none, n, &u);
    tk_set_k(t, t->in->ops[0].reg, u);
}

/* kortest: ZF = all zero, CF = all one; ktest: of a & b and ~a & b. */
static void test(struct tk *t, bool ortest, unsigned bits) {
    u64 m = bits >= 64 ? ~0ull : (1ull << bits) - 1;
    u64 ua = get_u(t, 0, bits), ub = get_u(t, 1, bits), a = get_v(t, 0) & m, b = get_v(t, 1) & m;
    u64 fv = 0, fu = 0;
    if (ortest) {
        u64 u = (ua & ub) | (ua & ~b) | (ub & ~a), r = a | b;
        if (t->in->ops[0].reg == t->in->ops[1].reg) u = ua;
        fu = (u && !(r & ~u) ? IP_FL_ZF : 0) | (u && !(~r & ~u & m) ? IP_FL_CF : 0);
        fv = (r ? 0 : IP_FL_ZF) | (r == m ? IP_FL_CF : 0);
    } else {
        u64 u = (ua & ub) | (ua & b) | (ub & a), un = (ua & ub) | (ua & b) | (ub & ~a);
        fu = (u && !(a & b & ~u) ? IP_FL_ZF : 0) | (un && !(~a & b & ~un) ? IP_FL_CF : 0);
        fv = (a & b ? 0 : IP_FL_ZF) | (~a & b ? 0 : IP_FL_CF);
    }
    tk_set_flags(t, tk_fl_of_bits(fv, fu));
}

static void shift(struct tk *t, bool left, unsigned bits) {
    u64 u = get_u(t, 1, bits), k = (u8)t->in->imm;
    u = k >= bits ? 0 : left ? u << k : u >> k;
    tk_set_k(t, t->in->ops[0].reg, bits >= 64 ? u : u & ((1ull << bits) - 1));
}

static void unpack(struct tk *t, unsigned half) {
    tk_set_k(t, t->in->ops[0].reg, get_u(t, 1, half) << half | get_u(t, 2, half));
}

#define SIZES(name, call)                                                                                              \
    case IP_MN_##name##B: call(8); return true;                                                                        \
    case IP_MN_##name##W: call(16); return true;                                                                       \
    case IP_MN_##name##D: call(32); return true;                                                                       \
    case IP_MN_##name##Q: call(64); return true;

bool tk_kmask(struct tk *t) {
    if (!t->in->k_read && !t->in->k_write) return false;
    switch (t->in->mnem) {
#define MOVE(n) move(t, n)
        SIZES(KMOV, MOVE)
#define AND(n) binary(t, '&', n)
        SIZES(KAND, AND)
#define ANDN(n) binary(t, 'n', n)
        SIZES(KANDN, ANDN)
#define OR(n) binary(t, '|', n)
        SIZES(KOR, OR)
#define XOR(n) binary(t, '^', n)
        SIZES(KXOR, XOR)
        SIZES(KXNOR, XOR)
#define ADD(n) add(t, n)
        SIZES(KADD, ADD)
        SIZES(KNOT, MOVE)
#define ORTEST(n) test(t, true, n)
        SIZES(KORTEST, ORTEST)
#define TEST(n) test(t, false, n)
        SIZES(KTEST, TEST)
#define LEFT(n) shift(t, true, n)
        SIZES(KSHIFTL, LEFT)
#define RIGHT(n) shift(t, false, n)
        SIZES(KSHIFTR, RIGHT)
    case IP_MN_KUNPCKBW: unpack(t, 8); return true;
    case IP_MN_KUNPCKWD: unpack(t, 16); return true;
    case IP_MN_KUNPCKDQ: unpack(t, 32); return true;
    default: return false;
    }
}
