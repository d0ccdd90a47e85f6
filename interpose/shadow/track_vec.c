/* Tracking: vector arithmetic, logic, comparisons, and the operands of them all. */
#include "shadow/origin.h"
#include "shadow/track_vec.h"

static bool legacy(const struct vx *x) { return x->t->in->enc == IP_ENC_LEGACY; }

/* ---- operands ------------------------------------------------------------------------ */

u64 vx_mask(struct vx *x) {
    const struct ip_insn *in = x->t->in;
    return in->evex_k ? tk_k_value(x->t, in->evex_k) : ~0ull;
}

/* Where the mask k decides which bytes of an operand of n bytes are read: its elements'
 * size, and k as it selects them.  False: all are read (shuffles, shift counts, lanes that are put in). */
static bool read_by_mask(struct vx *x, unsigned n, unsigned *es, u64 *k) {
    const struct ip_insn *in = x->t->in;
    const struct ip_operand *to = &in->ops[0];
    unsigned p = x->r->p, q = x->r->q, size = to->kind == IP_OP_VEC ? to->size : n;
    *es = p & 15;
    switch (x->r->cls) {
    case V_BCAST: { /* element i of the unit is element i, i + p / q... of the result */
        u64 any = 0;
        *es = q ? q : p;
        for (unsigned i = 0; i < size / *es; i++) any |= (*k >> i & 1) << i % (p / *es);
        *k = any;
        return true;
    }
    case V_CVTLOW: *es = q; return true;
    case V_MOVESCALAR:
    case V_SCALAR:
    case V_SCALARU:
    case V_SCALAR3:
    case V_SCALAR3F:
    case V_MOVE:
    case V_EXTEND:
    case V_CVT:
    case V_AND:
    case V_OR:
    case V_XOR:
    case V_ANDN:
    case V_TERNARY:
    case V_LEFT:
    case V_ADDSUB:
    case V_MULEVEN:
    case V_PRODUCTS3:
    case V_ABS:
    case V_EXTREME:
    case V_CAST:
    case V_CASTU:
    case V_CAST3:
    case V_CMPEQ:
    case V_CMPGT:
    case V_CMPK:
    case V_CMPFK:
    case V_CMPSCALAR:
    case V_TESTK:
    case V_SHIFTV:
    case V_ROTATE:
    case V_SHIFT2:
    case V_COUNT:
    case V_BITCHOICE:
    case V_BLENDM: return *es != 0;
    case V_PRODUCTS: return p == q; /* what adds two products reads all */
    case V_SHIFT: return in->ops[in->n_ops - 1].kind == IP_OP_IMM;
    default: return false;
    }
}

static void read_memory(struct vx *x, u8 *v, unsigned n) {
    struct tk *t = x->t;
    const struct ip_mem *m = &t->in->mem;
    u64 at = tk_ea(t), k = vx_mask(x);
    unsigned size = m->bcast && m->size ? m->size : n, es;
    bool masked = (m->access & IP_ACC_COND) && t->in->evex_k;
    if (masked && read_by_mask(x, n, &es, &k)) {
        u64 may = vx_mask(x) | t->ts->vk[t->in->evex_k];
        read_by_mask(x, n, &es, &may);
        if (m->bcast) { /* read if any element of the result takes it */
            u64 all = (1ull << n / size) - 1;
            k = (k & all) != 0;
            may = (may & all) != 0;
            es = size;
        }
        tk_load_masked(t, at, size, es, k, v);
        for (unsigned i = 0; i < size; i += es) /* what only an undefined mask leaves out: no access, but looked at */
            if ((may & ~k) >> i / es & 1) {
                if (sh_access(t->ts, at + i, es, v + i) & SH_ACC_UNADDR) memset(v + i, 0xff, es);
                if (origins_kept()) origin_from_elements(t, at + i, es);
            }
    } else if (masked) {
        tk_load_elements(t, at, size, v);
    } else {
        tk_load(t, at, size, v);
    }
    for (unsigned i = size; i < n; i++) v[i] = v[i - size];
}

void vx_read(struct vx *x, unsigned i, u8 *v, unsigned n) {
    struct tk *t = x->t;
    const struct ip_operand *op = &t->in->ops[i];
    if (x->of_values) {
        vx_value(x, i, v, n);
        return;
    }
    switch (op->kind) {
    case IP_OP_VEC: memcpy(v, t->ts->vvec + 64 * op->reg, n); break;
    case IP_OP_MMX: vx_put(v, n < 8 ? n : 8, t->ts->vmmx[op->reg]); break;
    case IP_OP_GPR: vx_put(v, n < 8 ? n : 8, t->ts->vgpr[op->reg]); break;
    case IP_OP_MEM: read_memory(x, v, n); break;
    default: memset(v, 0, n); break;
    }
}

void vx_value(struct vx *x, unsigned i, u8 *v, unsigned n) {
    struct tk *t = x->t;
    const struct ip_operand *op = &t->in->ops[i];
    const struct ip_mem *m = &t->in->mem;
    switch (op->kind) {
    case IP_OP_VEC: memcpy(v, tk_vec_value(t, op->reg), n); break;
    case IP_OP_MMX: vx_put(v, n < 8 ? n : 8, tk_mmx_value(t, op->reg)); break;
    case IP_OP_GPR: vx_put(v, n < 8 ? n : 8, t->ts->gpr[op->reg]); break;
    case IP_OP_MEM: {
        unsigned size = m->bcast && m->size ? m->size : n;
        tk_value(tk_ea(t), size, v);
        for (unsigned k = size; k < n; k++) v[k] = v[k - size];
        break;
    }
    default: memset(v, 0, n); break;
    }
}

/* Undefined unless both are defined and equal, as far as the new value is known before the instruction runs. */
u8 vx_either(const struct vx *x, unsigned i, u8 u, u8 value) {
    return x->known ? (u8)(x->d[i] | u | (x->value[i] ^ value)) : 0xff;
}

/* A masked store.  Elements that only an undefined mask leaves out become undefined like those that it lets in; where
 * they are unaddressable, nothing is there to mark, and nothing is accessed. */
static void write_memory(struct vx *x, unsigned n, unsigned es, u64 k, u64 open) {
    struct tk *t = x->t;
    u64 at = tk_ea(t);
    u8 old[64], old_value[64];
    for (unsigned i = 0; open && i < n; i += es) {
        if (!(open >> i / es & 1)) continue;
        if (sh_access(t->ts, at + i, es, old) & SH_ACC_UNADDR) {
            memset(x->d + i, 0xff, es);
            continue;
        }
        tk_value(at + i, es, old_value);
        for (unsigned b = 0; b < es; b++) x->d[i + b] = vx_either(x, i + b, old[b], old_value[b]);
        k |= 1ull << i / es;
    }
    tk_store_masked(t, at, n, es, k, x->d);
}

void vx_write(struct vx *x, unsigned n, unsigned es) {
    struct tk *t = x->t;
    const struct ip_insn *in = t->in;
    const struct ip_operand *op = &in->ops[0];
    bool masked = in->evex_k != 0;
    u64 k = vx_mask(x), open = masked ? t->ts->vk[in->evex_k] : 0;
    if (x->of_values) return; /* d is all that is wanted */
    if (open && !x->known) x->known = vx_compute(x);
    if (op->kind == IP_OP_MMX) {
        tk_set_mmx(t, op->reg, vx_get(x->d, 8));
        return;
    }
    if (op->kind == IP_OP_MEM) {
        if (masked)
            write_memory(x, n, es, k, open);
        else
            tk_store(t, tk_ea(t), n, x->d);
        return;
    }
    if (op->kind != IP_OP_VEC) return;
    if (masked) {
        if (x->r->cls == V_MOVESCALAR) { /* its mask governs the low element only */
            k |= ~1ull;
            open &= 1;
        }
        const u8 *old = t->ts->vvec + 64 * op->reg, *old_value = tk_vec_value(t, op->reg);
        for (unsigned i = 0; i < n; i++) {
            u8 kept = in->evex_z ? 0 : old[i], kept_value = in->evex_z ? 0 : old_value[i];
            if (open >> i / es & 1)
                x->d[i] = vx_either(x, i, kept, kept_value);
            else if (!(k >> i / es & 1))
                x->d[i] = kept;
        }
    }
    tk_set_vec(t, op->reg, x->d, n, !legacy(x));
}

/* ---- lanes ------------------------------------------------------------------------------ */

static u64 cast(u64 u) { return u ? ~0ull : 0; }

static void bitwise(struct vx *x, unsigned cls) {
    u8 av[64], bv[64];
    vx_value(x, x->ia, av, x->w);
    vx_value(x, x->ib, bv, x->w);
    for (unsigned i = 0; i < x->w; i += 8) {
        tkval a = vx_element(av, x->a, i, 8), b = vx_element(bv, x->b, i, 8), r;
        if (cls == V_ANDN) a.v = ~a.v;
        r = cls == V_XOR ? tk_xor(a, b) : cls == V_OR ? tk_or(a, b) : tk_and(a, b);
        vx_put(x->value + i, 8, r.v);
        vx_put(x->d + i, 8, r.u);
    }
    x->known = true;
}

static bool same_register(const struct vx *x, unsigned i, unsigned j) {
    const struct ip_operand *a = &x->t->in->ops[i], *b = &x->t->in->ops[j];
    return a->kind == b->kind && a->reg == b->reg && (a->kind == IP_OP_VEC || a->kind == IP_OP_MMX);
}

bool vx_same_sources(const struct vx *x) { return same_register(x, x->ia, x->ib); }

/* vpternlog: an output bit is open if both values are possible.  A row of its table is an octal digit, the bits of
 * operands 0, 1 and 2; where two of them are one register, rows in which they differ cannot be. */
static void ternary(struct vx *x) {
    u8 v[3][64], u[3][64], rows = 0;
    for (unsigned s = 0; s < 3; s++) {
        vx_read(x, s, u[s], x->w);
        vx_value(x, s, v[s], x->w);
    }
    for (unsigned row = 0; row < 8; row++) {
        unsigned first = row >> 2, second = row >> 1 & 1, third = row & 1;
        bool differ = (first != second && same_register(x, 0, 1)) || (second != third && same_register(x, 1, 2)) ||
                      (first != third && same_register(x, 0, 2));
        rows |= (u8)(!differ << row);
    }
    for (unsigned i = 0; i < x->w; i++) {
        u8 can[2] = {0, 0};
        x->value[i] = 0;
        for (unsigned row = 0; row < 8; row++) {
            u8 match = rows >> row & 1 ? 0xff : 0, now = 0xff;
            for (unsigned s = 0; s < 3; s++) {
                u8 differs = v[s][i] ^ (row >> (2 - s) & 1 ? 0xff : 0);
                match &= (u8)(u[s][i] | ~differs);
                now &= (u8)~differs;
            }
            can[x->imm >> row & 1] |= match;
            if (x->imm >> row & 1) x->value[i] |= now;
        }
        x->d[i] = can[0] & can[1];
    }
    x->known = true;
}

static void lanes(struct vx *x, unsigned es) {
    for (unsigned i = 0; i < x->w; i += es) vx_put(x->d + i, es, cast(vx_get(x->a + i, es) | vx_get(x->b + i, es)));
}

/* Pairs of source elements of es bytes make one: low halves from a, high from b. */
static void horizontal(struct vx *x, unsigned es) {
    unsigned lane = x->w < 16 ? x->w : 16;
    for (unsigned l = 0; l < x->w; l += lane)
        for (unsigned i = 0; i < lane; i += es) {
            const u8 *s = i < lane / 2 ? x->a + l + 2 * i : x->b + l + 2 * i - lane;
            vx_put(x->d + l + i, es, cast(vx_get(s, es) | vx_get(s + es, es)));
        }
}

/* Element comparison with definite answers where the bits allow one. */
static bool open_greater(tkval a, tkval b, unsigned es, bool is_signed) {
    u64 flip = is_signed ? 1ull << (8 * es - 1) : 0;
    u64 av = a.v ^ flip, bv = b.v ^ flip;
    u64 alo = av & ~a.u, ahi = av | a.u, blo = bv & ~b.u, bhi = bv | b.u;
    return !(ahi <= blo) && !(alo > bhi);
}

enum { CMP_EQ, CMP_GT };

/* The result is an AND of the comparison and the mask. Of memory, what the mask leaves out was not looked at. */
void vx_to_mask(struct vx *x, u64 open, u64 value, unsigned n) {
    const struct ip_insn *in = x->t->in;
    u64 k = vx_mask(x), u = in->evex_k ? x->t->ts->vk[in->evex_k] : 0, all = n >= 64 ? ~0ull : (1ull << n) - 1;
    tk_set_k(x->t, in->ops[0].reg, ((open & (k | u)) | (u & value)) & all);
}

static void compare(struct vx *x, unsigned es, unsigned how) {
    u8 av[64], bv[64];
    u64 open = 0, value = 0, flip = 1ull << (8 * es - 1);
    bool into_k = x->t->in->ops[0].kind == IP_OP_K;
    vx_value(x, x->ia, av, x->w);
    vx_value(x, x->ib, bv, x->w);
    for (unsigned i = 0; i < x->w; i += es) {
        tkval a = vx_element(av, x->a, i, es), b = vx_element(bv, x->b, i, es);
        bool o = how == CMP_EQ ? vx_open_equal(a, b) : open_greater(a, b, es, true);
        if (vx_same_sources(x)) o = false;
        vx_put(x->d + i, es, o ? ~0ull : 0);
        open |= (u64)o << i / es;
        value |= (u64)(how == CMP_EQ ? a.v == b.v : (a.v ^ flip) > (b.v ^ flip)) << i / es;
    }
    if (into_k)
        vx_to_mask(x, open, value, x->w / es);
    else
        vx_write(x, x->w, es);
}

/* vpcmp[u]{b,w,d,q} k, a, b, imm: q = 1 unsigned. */
static void compare_imm(struct vx *x, unsigned es, bool is_unsigned) {
    u8 av[64], bv[64];
    u64 open = 0, value = 0, flip = is_unsigned ? 0 : 1ull << (8 * es - 1);
    unsigned how = x->imm & 3; /* equal, less, less or equal, never */
    vx_value(x, x->ia, av, x->w);
    vx_value(x, x->ib, bv, x->w);
    for (unsigned i = 0; i < x->w; i += es) {
        tkval a = vx_element(av, x->a, i, es), b = vx_element(bv, x->b, i, es);
        u64 left = a.v ^ flip, right = b.v ^ flip;
        bool o = false;
        if (vx_same_sources(x))
            ;
        else if (how == 0)
            o = vx_open_equal(a, b);
        else if (how == 1)
            o = open_greater(b, a, es, !is_unsigned);
        else if (how == 2)
            o = open_greater(a, b, es, !is_unsigned);
        open |= (u64)o << i / es;
        value |= (u64)(how == 0 ? left == right : how == 1 ? left < right : how == 2 && left <= right) << i / es;
    }
    vx_to_mask(x, open, x->imm & 4 ? ~value : value, x->w / es);
}

/* vptestm, vptestnm (q = 1): is any bit of a & b set, or none. */
static void test_mask(struct vx *x, unsigned es, bool none) {
    u8 av[64], bv[64];
    u64 open = 0, value = 0;
    vx_value(x, x->ia, av, x->w);
    vx_value(x, x->ib, bv, x->w);
    for (unsigned i = 0; i < x->w; i += es) {
        tkval a = vx_element(av, x->a, i, es), b = vx_element(bv, x->b, i, es);
        u64 u = (a.u & b.u) | (a.u & b.v) | (b.u & a.v);
        open |= (u64)(u && !(a.v & b.v & ~u)) << i / es;
        value |= (u64)((a.v & b.v) != 0) << i / es;
    }
    vx_to_mask(x, open, none ? ~value : value, x->w / es);
}

/* Shift elements; q: 0 left, 1 right, 2 arithmetic right. */
u64 vx_shifted(u64 u, unsigned es, u64 k, unsigned how) {
    unsigned bits = 8 * es;
    if (how == 2) return (u64)((i64)tk_sext(u, es) >> (k < bits ? k : bits - 1));
    if (k >= bits) return 0;
    return how == 0 ? u << k : u >> k;
}

/* V bits of element i of a shifted by a count that is not known: what has only zeros on the side that bits come from
 * stays zero, or of an arithmetic shift, as the sign. */
static u64 shifted_somehow(const struct vx *x, const u8 *av, unsigned i, unsigned es, unsigned how) {
    u64 v = vx_get(av + i, es), u = vx_get(x->a + i, es), top = 1ull << (8 * es - 1);
    if (how == 2 && v & top) v = ~v & tk_mask(es);
    u64 comes = v | u;
    if (!comes) return 0;
    return how == 0 ? ~0ull << __builtin_ctzll(comes) : ~0ull >> __builtin_clzll(comes);
}

static void shift(struct vx *x, unsigned es, unsigned how) {
    const struct ip_insn *in = x->t->in;
    unsigned ic = in->n_ops - 1, is = ic - 1;
    u64 k = x->imm;
    vx_read(x, is, x->a, x->w);
    if (in->ops[ic].kind != IP_OP_IMM) {
        u8 c[16] = {0}, cv[16] = {0};
        vx_read(x, ic, c, x->w < 16 ? 8 : 16);
        vx_value(x, ic, cv, x->w < 16 ? 8 : 16);
        if (vx_get(c, 8)) {
            u8 av[64];
            vx_value(x, is, av, x->w);
            for (unsigned i = 0; i < x->w; i += es) vx_put(x->d + i, es, shifted_somehow(x, av, i, es, how));
            vx_write(x, x->w, es);
            return;
        }
        k = vx_get(cv, 8);
    }
    for (unsigned i = 0; i < x->w; i += es) vx_put(x->d + i, es, vx_shifted(vx_get(x->a + i, es), es, k, how));
    vx_write(x, x->w, es);
}

static void shift_variable(struct vx *x, unsigned es, unsigned how) {
    u8 av[64], cv[64];
    vx_value(x, x->ia, av, x->w);
    vx_value(x, x->ib, cv, x->w);
    for (unsigned i = 0; i < x->w; i += es) {
        u64 u = vx_get(x->a + i, es), k = vx_get(cv + i, es);
        bool open = vx_get(x->b + i, es);
        vx_put(x->d + i, es, open ? shifted_somehow(x, av, i, es, how) : vx_shifted(u, es, k, how));
    }
    vx_write(x, x->w, es);
}

/* Element 0 of d, which the mask governs, and 16 bytes in all, to operand 0. */
static void write_scalar(struct vx *x, unsigned es) {
    const struct ip_insn *in = x->t->in;
    if (in->evex_k) {
        const u8 *old = x->t->ts->vvec + 64 * in->ops[0].reg;
        if (x->t->ts->vk[in->evex_k] & 1)
            vx_put(x->d, es, ~0ull);
        else if (!(vx_mask(x) & 1))
            vx_put(x->d, es, in->evex_z ? 0 : vx_get(old, es));
    }
    tk_set_vec(x->t, in->ops[0].reg, x->d, 16, !legacy(x));
}

/* Scalar operations: the low element, the rest from the first source. */
static void scalar(struct vx *x, unsigned es, bool with_first, bool with_dst) {
    u64 u = vx_get(x->b, es);
    if (with_first) u |= vx_get(x->a, es);
    memcpy(x->d, x->a, 16);
    if (with_dst) { /* which mostly gives the rest, too */
        u8 c[64];
        vx_read(x, 0, c, 16);
        if (x->r->cls != V_SCALAR3F) memcpy(x->d, c, 16);
        u |= vx_get(c, es);
    }
    vx_put(x->d, es, cast(u));
    write_scalar(x, es);
}

static void movmsk(struct vx *x, unsigned es) {
    unsigned n = x->t->in->ops[1].size;
    u64 u = 0;
    vx_read(x, 1, x->b, n);
    for (unsigned i = 0; i < n; i += es) u |= (u64)(x->b[i + es - 1] >> 7) << i / es;
    if (x->t->in->ops[0].kind == IP_OP_K)
        tk_set_k(x->t, x->t->in->ops[0].reg, u);
    else
        tk_set_gpr(x->t, x->t->in->ops[0].reg, u);
}

/* ptest, vtestps, vtestpd: ZF from a & b, CF from ~a & b; es = 1 every bit, else tops. */
static void test_bits(struct vx *x, unsigned es) {
    u8 av[64], bv[64];
    bool open[2] = {false, false}, some[2] = {false, false};
    unsigned n = x->t->in->ops[0].size;
    vx_read(x, 0, x->a, n);
    vx_read(x, 1, x->b, n);
    vx_value(x, 0, av, n);
    vx_value(x, 1, bv, n);
    for (unsigned i = 0; i < n; i++) {
        u8 which = es == 1 ? 0xff : (i + 1) % es ? 0 : 0x80;
        for (unsigned c = 0; c < 2; c++) {
            u8 a = c ? (u8)~av[i] : av[i], b = bv[i], ua = x->a[i], ub = x->b[i];
            if (c && vx_same_sources(x)) continue; /* ~a & a */
            u8 u = (u8)((ua & ub) | (ua & b) | (ub & a)) & which;
            open[c] |= u != 0;
            some[c] |= (a & b & ~u & which) != 0;
        }
    }
    u64 fu = (open[0] && !some[0] ? IP_FL_ZF : 0) | (open[1] && !some[1] ? IP_FL_CF : 0);
    u64 fv = (some[0] ? 0 : IP_FL_ZF) | (some[1] ? 0 : IP_FL_CF);
    tk_set_flags(x->t, tk_fl_of_bits(fv, fu));
}

static void comi(struct vx *x, unsigned es) {
    vx_read(x, 0, x->a, es);
    vx_read(x, 1, x->b, es);
    bool any = vx_get(x->a, es) | vx_get(x->b, es);
    tk_set_flags(x->t, any ? TK_B | TK_Z | TK_BE | TK_P | TK_LE : 0);
}

/* Conversions between elements of p and q bytes, one to one. */
static void convert(struct vx *x, unsigned from, unsigned to) {
    const struct ip_insn *in = x->t->in;
    unsigned n = from > to ? (in->mem.bcast ? in->vlen : in->ops[1].size) / from : in->ops[0].size / to;
    if (n * to > 64) n = 64 / to;
    vx_read(x, 1, x->b, n * from);
    memset(x->d, 0, sizeof x->d);
    for (unsigned i = 0; i < n; i++) vx_put(x->d + i * to, to, cast(vx_get(x->b + i * from, from)));
    unsigned out = n * to; /* what is left of a register is zero, whatever the mask says of it */
    vx_write(x, legacy(x) && in->ops[0].kind == IP_OP_VEC && out < 16 ? 16 : out, to);
}

/* pcmpistri and kin: what the strings hold up to their ends decides. */
static bool string_open(struct vx *x, unsigned i, unsigned es, bool explicit_len, unsigned reg) {
    u8 u[16], v[16];
    unsigned n = 16;
    vx_read(x, i, u, 16);
    vx_value(x, i, v, 16);
    if (explicit_len) {
        i64 len = x->t->in->opsize == 8 ? (i64)x->t->ts->gpr[reg] : (i64)(int32_t)x->t->ts->gpr[reg];
        if (x->t->ts->vgpr[reg]) return true;
        if (len < 0) len = -len;
        if ((u64)len * es < n) n = (unsigned)len * es;
    }
    for (unsigned k = 0; k < n; k += es) {
        if (vx_get(u + k, es)) return true;
        if (!explicit_len && !vx_get(v + k, es)) break;
    }
    return false;
}

static void string_compare(struct vx *x, bool explicit_len, bool to_mask_reg) {
    unsigned es = x->imm & 1 ? 2 : 1;
    bool any = string_open(x, 0, es, explicit_len, IP_RAX) | string_open(x, 1, es, explicit_len, IP_RDX);
    unsigned n = 16 / es;
    if (to_mask_reg) { /* a bit for each element, or all of its bits */
        u8 d[64] = {0};
        memset(d, any ? 0xff : 0, x->imm & 0x40 ? 16 : n / 8);
        tk_set_vec(x->t, 0, d, 16, !legacy(x));
    } else {
        tk_set_gpr(x->t, IP_RCX, any ? 2 * n - 1 : 0); /* up to n */
    }
    tk_set_flags(x->t, any ? (u8)~TK_P : 0);
}

bool tk_vec(struct tk *t) {
    const struct ip_insn *in = t->in;
    const struct vec_rule *r = track_vec_rule(in->mnem);
    struct vx x;
    if (!r || in->map == 0) return false;
    x.t = t;
    x.r = r;
    x.imm = (u8)in->imm;
    x.known = x.of_values = false;
    x.w = in->ops[0].kind == IP_OP_VEC || in->ops[0].kind == IP_OP_MMX ? in->ops[0].size
          : in->ops[1].kind == IP_OP_MEM && in->mem.bcast              ? in->vlen
                                                                       : in->ops[1].size;
    if (x.w < 8 || x.w > 64) x.w = 16;
    x.ia = legacy(&x) ? 0 : 1;
    x.ib = x.ia + 1;
    if (r->cls <= V_EXPAND ? vx_move(&x) : r->cls >= V_LANE16 ? vx_lanes(&x) : r->cls >= V_ADDSUB && vx_arith(&x))
        return true;
    unsigned p = r->p, q = r->q;
    switch (r->cls) { /* those with operands of their own */
    case V_CASTU:
        vx_read(&x, 1, x.b, x.w);
        for (unsigned i = 0; i < x.w; i += p) vx_put(x.d + i, p, cast(vx_get(x.b + i, p)));
        vx_write(&x, x.w, p);
        return true;
    case V_TERNARY:
        ternary(&x);
        vx_write(&x, x.w, p);
        return true;
    case V_SHIFT: shift(&x, p, q); return true;
    case V_MOVMSK: movmsk(&x, p); return true;
    case V_TEST: test_bits(&x, p); return true;
    case V_COMI: comi(&x, p); return true;
    case V_CVT: convert(&x, p, q); return true;
    case V_INT2F: { /* cvtsi2sd: the low element from an integer */
        unsigned size = in->ops[x.ib].size;
        u8 src[8];
        vx_read(&x, x.ia, x.d, 16);
        vx_read(&x, x.ib, src, size > 8 ? 8 : size);
        vx_put(x.d, p, cast(vx_get(src, size > 8 ? 8 : size)));
        tk_set_vec(t, in->ops[0].reg, x.d, 16, !legacy(&x));
        return true;
    }
    case V_F2INT:
        vx_read(&x, 1, x.b, p);
        tk_wr(t, 0, cast(vx_get(x.b, p)));
        return true;
    case V_CAST3: {
        u8 c[64];
        vx_read(&x, 0, c, x.w);
        vx_read(&x, 1, x.a, x.w);
        vx_read(&x, 2, x.b, x.w);
        for (unsigned i = 0; i < x.w; i += p)
            vx_put(x.d + i, p, cast(vx_get(x.a + i, p) | vx_get(x.b + i, p) | vx_get(c + i, p)));
        vx_write(&x, x.w, p);
        return true;
    }
    case V_STRCMP: string_compare(&x, p, q); return true;
    default: break;
    }
    bool class_of_one = r->cls == V_CMPFK && q; /* vfpclasss* */
    bool low_only = r->cls == V_CMPSCALAR || r->cls == V_SCALAR || r->cls == V_SCALARU || r->cls == V_SCALAR3 ||
                    r->cls == V_SCALAR3F || r->cls == V_CVTLOW;
    if (low_only) x.w = 16;
    vx_read(&x, x.ia, x.a, class_of_one ? p : x.w);
    vx_read(&x, x.ib, x.b, low_only ? (r->cls == V_CVTLOW ? q : p) : x.w);
    if (in->ops[0].kind != IP_OP_K && vx_same_sources(&x) &&
        (r->cls == V_XOR || r->cls == V_ANDN || ((r->cls == V_CAST || r->cls == V_PSAD) && q == 1))) {
        memset(x.a, 0, x.w); /* zero whatever the register holds */
        memset(x.b, 0, x.w);
        memset(x.d, 0, x.w);
        memset(x.value, 0, x.w);
        x.known = true;
        vx_write(&x, x.w, p);
        return true;
    }
    switch (r->cls) {
    case V_AND:
    case V_OR:
    case V_XOR:
    case V_ANDN: bitwise(&x, r->cls); break;
    case V_CAST: lanes(&x, p); break;
    case V_HORIZ: horizontal(&x, p); break;
    case V_PSAD:
        lanes(&x, 8);
        for (unsigned i = 0; i < x.w; i += 8) /* a sum of 16 bits */
            memset(x.d + i + 2, 0, 6);
        break;
    case V_CMPEQ: compare(&x, p, CMP_EQ); return true;
    case V_CMPGT: compare(&x, p, CMP_GT); return true;
    case V_CMPK: compare_imm(&x, p, q); return true;
    case V_CMPFK: {
        u64 open = 0;
        if (in->ops[0].kind == IP_OP_VEC) {
            lanes(&x, p);
            break;
        }
        for (unsigned i = 0; i < (class_of_one ? p : x.w); i += p)
            open |= (u64)((vx_get(x.a + i, p) | vx_get(x.b + i, p)) != 0) << i / p;
        vx_to_mask(&x, open, ~0ull, class_of_one ? 1 : x.w / p);
        return true;
    }
    case V_TESTK: test_mask(&x, p, q); return true;
    case V_SHIFTV: shift_variable(&x, p, q); return true;
    case V_CMPSCALAR:
        if (in->ops[0].kind == IP_OP_K) {
            vx_to_mask(&x, (vx_get(x.a, p) | vx_get(x.b, p)) != 0, ~0ull, 1);
            return true;
        } /* fall through */
    case V_SCALAR: scalar(&x, p, true, false); return true;
    case V_SCALARU: scalar(&x, p, false, false); return true;
    case V_SCALAR3:
    case V_SCALAR3F: scalar(&x, p, true, true); return true;
    case V_CVTLOW: { /* p: size made, q: size read */
        u64 u = cast(vx_get(x.b, q));
        memcpy(x.d, x.a, 16);
        vx_put(x.d, p, u);
        write_scalar(&x, p);
        return true;
    }
    default: return false;
    }
    vx_write(&x, x.w, p);
    return true;
}
