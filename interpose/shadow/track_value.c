/* Tracking: what moves and integer arithmetic of vectors are about to write, for where only an undefined mask bit
 * decides whether it does: an element that becomes what it is already (a sum with zero) is defined either way.
 */
#include "shadow/track_vec.h"

static i64 number(u64 v, unsigned es) { return (i64)tk_sext(v, es); }

static u64 saturated(i64 v, unsigned es) {
    i64 most = (i64)(tk_mask(es) >> 1);
    return (u64)(v > most ? most : v < -most - 1 ? -most - 1 : v);
}

static i64 product(u64 a, u64 b) { return number(a, 2) * number(b, 2); }

/* Two products side by side, of the halves of both elements. */
static i64 two_products(u64 a, u64 b, unsigned half, bool is_signed) {
    u64 low = tk_mask(half), a_high = a >> 8 * half & low, b_high = b >> 8 * half & low;
    i64 first = is_signed ? number(a & low, half) : (i64)(a & low);
    i64 second = is_signed ? number(a_high, half) : (i64)a_high;
    return first * number(b & low, half) + second * number(b_high, half);
}

/* An element of V_CAST or V_PRODUCTS; false: of none that is computed here. */
static bool cast_element(unsigned mnem, u64 a, u64 b, unsigned es, u64 *v) {
    u64 all = tk_mask(es);
    switch (mnem) {
    case IP_MN_VPADDSB:
    case IP_MN_VPADDSW: *v = saturated(number(a, es) + number(b, es), es); return true;
    case IP_MN_VPSUBSB:
    case IP_MN_VPSUBSW: *v = saturated(number(a, es) - number(b, es), es); return true;
    case IP_MN_VPADDUSB:
    case IP_MN_VPADDUSW: *v = a + b > all ? all : a + b; return true;
    case IP_MN_VPSUBUSB:
    case IP_MN_VPSUBUSW: *v = a > b ? a - b : 0; return true;
    case IP_MN_VPAVGB:
    case IP_MN_VPAVGW: *v = (a + b + 1) >> 1; return true;
    case IP_MN_VPMULHW: *v = (u64)(product(a, b) >> 16); return true;
    case IP_MN_VPMULHUW: *v = a * b >> 16; return true;
    case IP_MN_VPMULHRSW: *v = (u64)(((product(a, b) >> 14) + 1) >> 1); return true;
    case IP_MN_VPMADDWD: *v = (u64)two_products(a, b, 2, true); return true;
    case IP_MN_VPMADDUBSW: *v = saturated(two_products(a, b, 1, false), 2); return true;
    default: return false;
    }
}

static u64 extreme(u64 a, u64 b, unsigned es, unsigned how) {
    u64 order = how & VX_SIGNED ? 1ull << (8 * es - 1) : 0;
    bool first = how & VX_MOST ? (a ^ order) >= (b ^ order) : (a ^ order) <= (b ^ order);
    return first ? a : b;
}

/* Of one element of each source. */
static bool of_two(const struct vx *x, u64 a, u64 b, unsigned es, u64 *v) {
    unsigned mnem = x->t->in->mnem, q = x->r->q;
    switch (x->r->cls) {
    case V_ADDSUB: *v = q ? a - b : a + b; return true;
    case V_LEFT: *v = a * b; return true;
    case V_MULEVEN:
        *v = mnem == IP_MN_VPMULDQ ? (u64)(number(a, 4) * number(b, 4)) : (a & tk_mask(4)) * (b & tk_mask(4));
        return true;
    case V_EXTREME: *v = extreme(a, b, es, q); return true;
    case V_SHIFTV: *v = vx_shifted(a, es, b, q); return true;
    default: return cast_element(mnem, a, b, es, v);
    }
}

/* Of one source, and a count. */
static u64 of_one(const struct vx *x, u64 a, u64 count, unsigned es) {
    if (x->r->cls == V_ABS) return number(a, es) < 0 ? -a : a;
    return vx_shifted(a, es, count, x->r->q);
}

bool vx_compute(struct vx *x) {
    const struct ip_insn *in = x->t->in;
    unsigned es = x->r->p, last = in->n_ops - 1u;
    bool one = x->r->cls == V_ABS || x->r->cls == V_SHIFT;
    u8 av[64], bv[64];
    u64 count = x->imm, v;
    if (vx_moved(x)) return true;
    switch (x->r->cls) {
    case V_ADDSUB:
    case V_LEFT:
    case V_MULEVEN:
    case V_EXTREME:
    case V_SHIFTV:
    case V_CAST:
    case V_PRODUCTS:
    case V_ABS:
    case V_SHIFT: break;
    default: return false;
    }
    vx_value(x, one ? (x->r->cls == V_SHIFT ? last - 1 : last) : x->ia, av, x->w);
    if (!one) {
        vx_value(x, x->ib, bv, x->w);
    } else if (x->r->cls == V_SHIFT && in->ops[last].kind != IP_OP_IMM) {
        vx_value(x, last, bv, 16);
        count = vx_get(bv, 8);
    }
    for (unsigned i = 0; i < x->w; i += es) {
        u64 a = vx_get(av + i, es);
        if (one)
            v = of_one(x, a, count, es);
        else if (!of_two(x, a, vx_get(bv + i, es), es, &v))
            return false;
        vx_put(x->value + i, es, v);
    }
    return true;
}
