/* Tracking: vector arithmetic whose V bits follow from the values of the defined bits. */
#include "shadow/track_vec.h"

static u64 cast(u64 u) { return u ? ~0ull : 0; }
static bool is_zero(tkval x) { return !(x.v | x.u); }

/* What an element may be: V bits where its possible values differ. */
struct choice {
    bool any;
    u64 v, u;
};

static void or_else(struct choice *c, u64 v, u64 u) {
    if (c->any)
        c->u |= u | (c->v ^ v);
    else
        *c = (struct choice){true, v, u};
}

static tkval negative(tkval a, unsigned es) {
    const tkval zero = {0, 0};
    tkval r = tk_difference(zero, a);
    return (tkval){r.v & tk_mask(es), r.u & tk_mask(es)};
}

/* padd, psub: the carries of both bounds. */
static void add(struct vx *x, unsigned es, bool sub, const u8 *av, const u8 *bv) {
    tkval zero = {0, 0};
    bool same = vx_same_sources(x);
    for (unsigned i = 0; i < x->w; i += es) {
        tkval a = vx_element(av, x->a, i, es), b = vx_element(bv, x->b, i, es);
        u64 u = a.u | b.u;
        if (!u)
            ;
        else if (sub)
            u = tk_difference(a, b).u;
        else if (same)
            tk_fl_double(a, zero, es, &u);
        else
            u = tk_sum(a, b).u;
        vx_put(x->d + i, es, u);
    }
}

/* pmull: a product's bits depend on none above them. */
static void multiply(struct vx *x, unsigned es, const u8 *av, const u8 *bv) {
    for (unsigned i = 0; i < x->w; i += es) {
        tkval a = vx_element(av, x->a, i, es), b = vx_element(bv, x->b, i, es);
        vx_put(x->d + i, es, is_zero(a) || is_zero(b) ? 0 : tk_left(a.u | b.u));
    }
}

/* pmuludq, pmuldq: of the low half of each element. */
static void multiply_even(struct vx *x, const u8 *av, const u8 *bv) {
    for (unsigned i = 0; i < x->w; i += 8) {
        tkval a = vx_element(av, x->a, i, 4), b = vx_element(bv, x->b, i, 4);
        vx_put(x->d + i, 8, is_zero(a) || is_zero(b) ? 0 : tk_left(a.u | b.u));
    }
}

/* pmadd, pmulh, vpdp, vpmadd52: sums of products of factors of q bytes (of 8: of 52 bits).  Zero times anything is
 * zero, also where the other factor is undefined: what lies past the end of a row is mostly multiplied by zeros. */
static void products(struct vx *x, unsigned es, unsigned q, const u8 *av, const u8 *bv) {
    u64 factor = q == 8 ? (1ull << 52) - 1 : tk_mask(q);
    u8 c[64] = {0};
    if (x->r->cls == V_PRODUCTS3) vx_read(x, 0, c, x->w);
    for (unsigned i = 0; i < x->w; i += es) {
        u64 open = vx_get(c + i, es);
        for (unsigned k = i; k < i + es; k += q) {
            tkval a = vx_element(av, x->a, k, q), b = vx_element(bv, x->b, k, q);
            u64 a_bits = (a.v | a.u) & factor, b_bits = (b.v | b.u) & factor;
            if (a_bits && b_bits) open |= (a.u | b.u) & factor;
        }
        vx_put(x->d + i, es, cast(open));
    }
}

static u64 absolute(tkval a, unsigned es) {
    u64 top = 1ull << (8 * es - 1);
    struct choice c = {0};
    tkval without = {a.v & ~top, a.u & ~top}, minus = negative((tkval){a.v | top, a.u & ~top}, es);
    if (!a.u) return 0;
    if ((a.u | ~a.v) & top) or_else(&c, without.v, without.u);
    if ((a.u | a.v) & top) or_else(&c, minus.v, minus.u);
    return c.u;
}

/* psign: the first source, zero, or the first source negated. */
static u64 with_sign(tkval a, tkval b, unsigned es) {
    u64 top = 1ull << (8 * es - 1), most = b.v | b.u, least = b.v & ~b.u;
    struct choice c = {0};
    tkval minus = negative(a, es);
    if (most & top) or_else(&c, minus.v, minus.u);
    if (!least) or_else(&c, 0, 0);
    if (!(least & top) && (most & ~top)) or_else(&c, a.v, a.u);
    return c.u;
}

/* pmin, pmax: an element of one source or the other one, where either may be the one that is chosen. */
static void extremes(struct vx *x, unsigned es, unsigned how, const u8 *av, const u8 *bv) {
    u64 order = how & VX_SIGNED ? 1ull << (8 * es - 1) : 0; /* to compare as if unsigned */
    for (unsigned i = 0; i < x->w; i += es) {
        tkval a = vx_element(av, x->a, i, es), b = vx_element(bv, x->b, i, es);
        u64 a_low = (a.v ^ order) & ~a.u, a_high = (a.v ^ order) | a.u;
        u64 b_low = (b.v ^ order) & ~b.u, b_high = (b.v ^ order) | b.u;
        struct choice c = {0};
        if (how & VX_MOST ? a_high >= b_low : a_low <= b_high) or_else(&c, a.v, a.u);
        if (how & VX_MOST ? b_high >= a_low : b_low <= a_high) or_else(&c, b.v, b.u);
        vx_put(x->d + i, es, a.u | b.u ? c.u : 0);
    }
}

static void signs(struct vx *x, unsigned es, const u8 *av, const u8 *bv) {
    bool same = vx_same_sources(x);
    for (unsigned i = 0; i < x->w; i += es) {
        tkval a = vx_element(av, x->a, i, es), b = vx_element(bv, x->b, i, es);
        vx_put(x->d + i, es, same ? absolute(a, es) : with_sign(a, b, es));
    }
}

/* dpps, dppd: the elements that the immediate selects are multiplied; their sum goes where it says. */
static void dot_product(struct vx *x, unsigned es) {
    for (unsigned l = 0; l < x->w; l += 16) {
        u64 any = 0;
        for (unsigned i = 0; i < 16 / es; i++)
            if (x->imm >> (4 + i) & 1) any |= vx_get(x->a + l + i * es, es) | vx_get(x->b + l + i * es, es);
        for (unsigned i = 0; i < 16 / es; i++) vx_put(x->d + l + i * es, es, x->imm >> i & 1 ? cast(any) : 0);
    }
}

/* mpsadbw: eight sums of four differences each, of bytes that move on in the first source. */
static void sums_of_differences(struct vx *x) {
    for (unsigned l = 0; l < x->w; l += 16) {
        unsigned how = l ? x->imm >> 3 : x->imm, from = how & 4, of = 4 * (how & 3);
        u64 block = vx_get(x->b + l + of, 4);
        for (unsigned i = 0; i < 8; i++) /* at most 4 * 255 */
            vx_put(x->d + l + 2 * i, 2, block | vx_get(x->a + l + from + i, 4) ? 0x3ff : 0);
    }
}

/* phminposuw: the least word, and in three bits which one it was. */
static void least_word(struct vx *x) {
    bool any = !tk_zero(x->a, 16);
    memset(x->d, 0, 16);
    vx_put(x->d, 4, any ? 0x7ffff : 0);
}

/* vp2intersect: bit i of the first mask register, whether element i of a is one of b's; of the second the other way. */
static void intersect(struct vx *x, unsigned es, const u8 *av, const u8 *bv) {
    unsigned n = x->w / es, k = x->t->in->ops[0].reg & ~1u;
    u64 open[2] = {0, 0}, found[2] = {0, 0};
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < n; j++) {
            tkval a = vx_element(av, x->a, i * es, es), b = vx_element(bv, x->b, j * es, es);
            bool equal = !(a.u | b.u) && a.v == b.v, may = vx_open_equal(a, b);
            open[0] |= (u64)may << i;
            open[1] |= (u64)may << j;
            found[0] |= (u64)equal << i;
            found[1] |= (u64)equal << j;
        }
    tk_set_k(x->t, k, open[0] & ~found[0]);
    tk_set_k(x->t, k + 1, open[1] & ~found[1]);
}

/* Between MMX registers and the low halves of vectors: two elements of p bytes to q. */
static void convert_mmx(struct vx *x, unsigned p, unsigned q) {
    const struct ip_operand *to = &x->t->in->ops[0];
    memset(x->d, 0, 16);
    if (to->kind == IP_OP_VEC) vx_read(x, 0, x->d, 16);
    vx_read(x, 1, x->b, 2 * p);
    for (unsigned i = 0; i < 2; i++) vx_put(x->d + i * q, q, cast(vx_get(x->b + i * p, p)));
    if (to->kind == IP_OP_VEC)
        tk_set_vec(x->t, to->reg, x->d, 16, false);
    else
        tk_set_mmx(x->t, to->reg, vx_get(x->d, 8));
}

/* vcvtne2ps2bf16: the second source makes the low half, the first the high one. */
static void narrow_two(struct vx *x) {
    for (unsigned i = 0; i < x->w / 4; i++) {
        vx_put(x->d + 2 * i, 2, cast(vx_get(x->b + 4 * i, 4)));
        vx_put(x->d + x->w / 2 + 2 * i, 2, cast(vx_get(x->a + 4 * i, 4)));
    }
}

/* Ones, or leading zeros, of an element. */
static u64 number_of(u64 v, unsigned es, bool zeros) {
    if (!zeros) return (u64)__builtin_popcountll(v);
    return v ? (u64)__builtin_clzll(v) - (64 - 8 * es) : 8 * es;
}

static void count(struct vx *x, unsigned es, bool zeros) {
    u8 v[64];
    vx_read(x, 1, x->a, x->w);
    vx_value(x, 1, v, x->w);
    for (unsigned i = 0; i < x->w; i += es) {
        tkval a = vx_element(v, x->a, i, es);
        vx_put(x->d + i, es, tk_between(number_of(a.v & ~a.u, es, zeros), number_of(a.v | a.u, es, zeros)));
    }
    vx_write(x, x->w, es);
}

bool vx_arith(struct vx *x) {
    unsigned p = x->r->p, q = x->r->q, es = p;
    u8 av[64], bv[64];
    switch (x->r->cls) {
    case V_CVTMMX: convert_mmx(x, p, q); return true;
    case V_COUNT: count(x, p, q); return true;
    case V_MINPOS:
        vx_read(x, 1, x->a, 16);
        least_word(x);
        vx_write(x, 16, 16);
        return true;
    case V_ABS:
        vx_read(x, 1, x->a, x->w);
        vx_value(x, 1, av, x->w);
        for (unsigned i = 0; i < x->w; i += p) vx_put(x->d + i, p, absolute(vx_element(av, x->a, i, p), p));
        vx_write(x, x->w, p);
        return true;
    case V_ADDSUB:
    case V_LEFT:
    case V_MULEVEN:
    case V_SIGN:
    case V_EXTREME:
    case V_INTERSECT:
    case V_DOT:
    case V_SADS:
    case V_PRODUCTS:
    case V_PRODUCTS3:
    case V_NARROW2: break;
    default: return false;
    }
    if (x->r->cls == V_INTERSECT) x->w = x->t->in->ops[1].size;
    vx_read(x, x->ia, x->a, x->w);
    vx_read(x, x->ib, x->b, x->w);
    vx_value(x, x->ia, av, x->w);
    vx_value(x, x->ib, bv, x->w);
    switch (x->r->cls) {
    case V_ADDSUB:
        if (q && vx_same_sources(x)) { /* zero whatever the register holds */
            memset(x->d, 0, x->w);
            memset(x->value, 0, x->w);
            x->known = true;
        } else {
            add(x, p, q, av, bv);
        }
        break;
    case V_LEFT: multiply(x, p, av, bv); break;
    case V_MULEVEN: multiply_even(x, av, bv); break;
    case V_SIGN: signs(x, p, av, bv); break;
    case V_EXTREME: extremes(x, p, q, av, bv); break;
    case V_INTERSECT: intersect(x, p, av, bv); return true;
    case V_DOT: dot_product(x, p); break;
    case V_SADS: sums_of_differences(x); break;
    case V_PRODUCTS:
    case V_PRODUCTS3: products(x, p, q, av, bv); break;
    default:
        narrow_two(x);
        es = 2;
        break;
    }
    vx_write(x, x->w, es);
    return true;
}
