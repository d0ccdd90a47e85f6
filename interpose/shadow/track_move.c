/* Tracking: vector instructions that only move data.  The V bits take the same
 * way as the data. */
#include "shadow/track_vec.h"

static void copy(u8 *d, const u8 *s, unsigned n) { memcpy(d, s, n); }

/* Element index under an undefined control: nothing is known. */
static void unknown(u8 *d, unsigned n) { memset(d, 0xff, n); }

static bool is_mem(const struct vx *x, unsigned i) { return x->t->in->ops[i].kind == IP_OP_MEM; }
static unsigned op_size(const struct vx *x, unsigned i) { return x->t->in->ops[i].size; }
static bool legacy(const struct vx *x) { return x->t->in->enc == IP_ENC_LEGACY; }
static unsigned lane_of(const struct vx *x) { return x->w < 16 ? x->w : 16; }

static void unpack(struct vx *x, unsigned es, bool high) {
    unsigned lane = lane_of(x);
    for (unsigned l = 0; l < x->w; l += lane)
        for (unsigned i = 0; i < lane / 2 / es; i++) {
            unsigned from = l + (high ? lane / 2 : 0) + i * es;
            copy(x->d + l + 2 * i * es, x->a + from, es);
            copy(x->d + l + (2 * i + 1) * es, x->b + from, es);
        }
}

/* pshufd and kin: p = element size, q = 0 all, 1 low four, 2 high four. */
static void shuffle_imm(struct vx *x, unsigned es, unsigned part) {
    unsigned lane = lane_of(x), per = part ? 4 : lane / es, base = part == 2 ? 8 : 0;
    copy(x->d, x->b, x->w);
    for (unsigned l = 0; l < x->w; l += lane)
        for (unsigned i = 0; i < per; i++) {
            unsigned k = per == 2 ? x->imm >> (l / lane * 2 + i) & 1 : x->imm >> 2 * i & 3;
            copy(x->d + l + base + i * es, x->b + l + base + k * es, es);
        }
}

static void shuffle_two(struct vx *x, unsigned es) { /* shufps, shufpd */
    for (unsigned l = 0; l < x->w; l += 16)
        for (unsigned i = 0; i < 16 / es; i++) {
            unsigned k = es == 4 ? x->imm >> 2 * i & 3 : x->imm >> (l / 16 * 2 + i) & 1;
            copy(x->d + l + i * es, (i < 8 / es ? x->a : x->b) + l + k * es, es);
        }
}

static void align_bytes(struct vx *x) {
    unsigned lane = lane_of(x);
    for (unsigned l = 0; l < x->w; l += lane)
        for (unsigned i = 0; i < lane; i++) {
            unsigned k = i + x->imm;
            x->d[l + i] = k < lane ? x->b[l + k] : k < 2 * lane ? x->a[l + k - lane] : 0;
        }
}

static void byte_shift(struct vx *x, bool left) {
    for (unsigned l = 0; l < x->w; l += 16)
        for (unsigned i = 0; i < 16; i++) {
            unsigned k = left ? i - x->imm : i + x->imm;
            x->d[l + i] = k < 16 ? x->a[l + k] : 0;
        }
}

static void insert_ps(struct vx *x) {
    unsigned from = is_mem(x, x->ib) ? 0 : x->imm >> 6;
    u8 e[4];
    copy(e, x->b + 4 * from, 4);
    copy(x->d, x->a, 16);
    copy(x->d + 4 * (x->imm >> 4 & 3), e, 4);
    for (unsigned i = 0; i < 4; i++)
        if (x->imm >> i & 1) memset(x->d + 4 * i, 0, 4);
}

/* V bits of a control: where values are moved, all of them count. */
static void read_control(struct vx *x, unsigned i, u8 *c) {
    if (x->of_values)
        memset(c, 0, x->w);
    else
        vx_read(x, i, c, x->w);
}

/* Elements chosen by the values of a control vector; its V bits c, values cv. */
static void pick(struct vx *x, const u8 *src, const u8 *c, const u8 *cv, unsigned es, unsigned group) {
    unsigned per = group / es;
    for (unsigned i = 0; i < x->w; i += es) {
        u64 k = vx_get(cv + i, es), u = vx_get(c + i, es);
        if (u & (per - 1))
            unknown(x->d + i, es);
        else
            copy(x->d + i, src + i / group * group + (k & (per - 1)) * es, es);
    }
}

static void pshufb(struct vx *x) {
    u8 cv[64];
    unsigned lane = lane_of(x);
    vx_value(x, x->ib, cv, x->w);
    if (x->of_values) memset(x->b, 0, x->w);
    for (unsigned i = 0; i < x->w; i++) {
        if (x->b[i] & (0x80 | (lane - 1)))
            x->d[i] = 0xff;
        else
            x->d[i] = cv[i] & 0x80 ? 0 : x->a[i / lane * lane + (cv[i] & (lane - 1))];
    }
}

static void permute_two(struct vx *x, unsigned es, bool control_is_dst) {
    /* vpermi2: control in op0, tables op1, op2; vpermt2: tables op0, op2, control op1 */
    u8 c[64], cv[64], tables[128];
    read_control(x, control_is_dst ? 0 : 1, c);
    vx_value(x, control_is_dst ? 0 : 1, cv, x->w);
    vx_read(x, control_is_dst ? 1 : 0, tables, x->w);
    vx_read(x, 2, tables + x->w, x->w);
    unsigned per = 2 * x->w / es;
    for (unsigned i = 0; i < x->w; i += es) {
        if (vx_get(c + i, es) & (per - 1))
            unknown(x->d + i, es);
        else
            copy(x->d + i, tables + (vx_get(cv + i, es) & (per - 1)) * es, es);
    }
}

static void blend_variable(struct vx *x, unsigned es) {
    u8 c[64], cv[64], av[64], bv[64];
    unsigned ic = legacy(x) ? 0 : 3;
    if (legacy(x)) { /* implicit xmm0 */
        copy(c, x->t->ts->vvec, 16);
        copy(cv, tk_vec_value(x->t, 0), 16);
    } else {
        vx_read(x, ic, c, x->w);
        vx_value(x, ic, cv, x->w);
    }
    vx_value(x, x->ia, av, x->w);
    vx_value(x, x->ib, bv, x->w);
    for (unsigned i = 0; i < x->w; i += es) {
        unsigned top = i + es - 1;
        for (unsigned k = i; k < i + es; k++) {
            if (c[top] & 0x80)
                x->d[k] = x->a[k] | x->b[k] | (av[k] ^ bv[k]);
            else
                x->d[k] = cv[top] & 0x80 ? x->b[k] : x->a[k];
        }
    }
}

static void extend(struct vx *x, unsigned from, unsigned to, bool sign) {
    u8 src[64];
    unsigned n = x->w / to;
    vx_read(x, 1, src, n * from);
    for (unsigned i = 0; i < n; i++) {
        u64 u = vx_get(src + i * from, from);
        vx_put(x->d + i * to, to, sign ? tk_sext(u, from) : u);
    }
}

/* The number nearest to v that n bytes hold. */
static u64 nearest(u64 v, unsigned n, unsigned how) {
    i64 most = (i64)(tk_mask(n) >> !!(how & VX_TO_SIGNED)), least = how & VX_TO_SIGNED ? -most - 1 : 0;
    if (!(how & VX_FROM_SIGNED)) return v > (u64)most ? (u64)most : v;
    return (u64)((i64)v > most ? most : (i64)v < least ? least : (i64)v);
}

/* V bits of an element of es bytes that is made one of n.  Where no bit can take it past what these hold, it is cut off
 * (as compilers do it, who mask first); else the result is between those of the least and the greatest value. */
static u64 narrowed(tkval a, unsigned es, unsigned n, unsigned how) {
    u64 order = how & VX_FROM_SIGNED ? 1ull << (8 * es - 1) : 0;
    u64 least = ((a.v ^ order) & ~a.u) ^ order, greatest = ((a.v ^ order) | a.u) ^ order;
    if (!a.u) return 0;
    if (how & VX_FROM_SIGNED) {
        least = tk_sext(least, es);
        greatest = tk_sext(greatest, es);
    }
    u64 from = nearest(least, n, how), to = nearest(greatest, n, how);
    return from == least && to == greatest ? a.u : tk_between(from, to);
}

static void pack(struct vx *x, unsigned es, unsigned how) { /* es: source elements */
    unsigned lane = lane_of(x), half = lane / 2, to = es / 2;
    u8 av[64], bv[64];
    vx_value(x, x->ia, av, x->w);
    vx_value(x, x->ib, bv, x->w);
    for (unsigned l = 0; l < x->w; l += lane)
        for (unsigned i = 0; i < half / to; i++) {
            unsigned k = l + i * es;
            vx_put(x->d + l + i * to, to, narrowed(vx_element(av, x->a, k, es), es, to, how));
            vx_put(x->d + l + half + i * to, to, narrowed(vx_element(bv, x->b, k, es), es, to, how));
        }
}

/* vmaskmov, vpmaskmov: the top bits of the mask register choose elements. */
static void masked_move(struct vx *x, unsigned es) {
    struct tk *t = x->t;
    const struct ip_insn *in = t->in;
    u8 m[64], mv[64], v[64];
    bool store = in->ops[0].kind == IP_OP_MEM;
    unsigned n = store ? in->ops[2].size : in->ops[0].size;
    u64 at = tk_ea(t);
    vx_read(x, 1, m, n);
    vx_value(x, 1, mv, n);
    if (store) vx_read(x, 2, v, n);
    for (unsigned i = 0; i < n; i += es) {
        if (m[i + es - 1] & 0x80) tk_report_cond(t); /* whether it is accessed */
        bool on = mv[i + es - 1] & 0x80;
        if (store && on) tk_store_elements(t, at + i, es, v + i);
        if (store) continue;
        memset(x->d + i, 0, es);
        if (on) tk_load_elements(t, at + i, es, x->d + i);
    }
    if (!store) tk_set_vec(t, in->ops[0].reg, x->d, n, true);
}

static void zero_registers(struct tk *t, unsigned keep) {
    unsigned n = 16;
    for (unsigned r = 0; r < n; r++) {
        u8 v[64];
        copy(v, t->ts->vvec + 64 * r, 64);
        tk_set_vec(t, r, v, keep, true);
    }
}

/* movss, movsd, movlps, movhps...: with memory, or merging registers. */
static void move_scalar(struct vx *x, unsigned n) {
    const struct ip_insn *in = x->t->in;
    if (is_mem(x, 0)) {
        vx_read(x, 1, x->d, 16);
        vx_write(x, n, n);
    } else if (in->n_ops == 2 && is_mem(x, 1)) {
        memset(x->d, 0, sizeof x->d);
        vx_read(x, 1, x->d, n);
        vx_write(x, 16, n);
    } else {
        vx_read(x, legacy(x) ? 0 : 1, x->d, 16);
        vx_read(x, legacy(x) ? 1 : 2, x->b, 16);
        copy(x->d, x->b, n);
        vx_write(x, 16, n);
    }
}

static void move_half(struct vx *x, unsigned at) { /* movlps/movhps: at = 0 or 8 */
    if (is_mem(x, 0)) {
        vx_read(x, 1, x->b, 16);
        copy(x->d, x->b + at, 8);
        vx_write(x, 8, 8);
        return;
    }
    vx_read(x, x->ia, x->d, 16);
    vx_read(x, x->ib, x->b, 8);
    copy(x->d + at, x->b, 8);
    vx_write(x, 16, 8);
}

static void move_low(struct vx *x) { /* movd, movq: zero-extending both ways */
    const struct ip_insn *in = x->t->in;
    unsigned n = x->r->p;
    for (unsigned i = 0; i < 2; i++) {
        unsigned s = op_size(x, i);
        if (in->ops[i].kind == IP_OP_GPR && s < n) n = s;
        if (in->ops[i].kind == IP_OP_GPR && s > n) n = s;
        if (in->ops[i].kind == IP_OP_MEM && s && s < 16) n = s;
    }
    if (x->r->p == 2) n = 2; /* vmovw, whose register counts as 32 bits */
    memset(x->d, 0, sizeof x->d);
    vx_read(x, 1, x->d, n);
    switch (in->ops[0].kind) {
    case IP_OP_VEC: vx_write(x, 16, n); break;
    case IP_OP_MMX: tk_set_mmx(x->t, in->ops[0].reg, vx_get(x->d, n)); break;
    default: tk_wr(x->t, 0, vx_get(x->d, n)); break;
    }
}

static void insert(struct vx *x, unsigned es) {
    unsigned lane = x->w < 16 ? 8 : 16, k = x->imm & (lane / es - 1);
    vx_read(x, x->ia, x->d, x->w);
    vx_read(x, x->ib, x->b, es);
    copy(x->d + k * es, x->b, es);
    vx_write(x, x->w, es);
}

static void extract(struct vx *x, unsigned es) {
    unsigned n = op_size(x, 1), k = x->imm & (n / es - 1);
    vx_read(x, 1, x->b, n);
    u64 u = vx_get(x->b + k * es, es);
    if (x->t->in->ops[0].kind == IP_OP_GPR)
        tk_set_gpr(x->t, x->t->in->ops[0].reg, u);
    else
        tk_wr(x->t, 0, u);
}

/* extrq, insertq of SSE4a: a field of the low half, by length (0: 64) and first bit, is taken, or replaced by the other
 * source's lowest bits. The high half becomes zero. */
static void field(struct vx *x, bool insert) {
    const struct ip_insn *in = x->t->in;
    unsigned where = insert ? 8 : 0; /* of both numbers, if a register holds them */
    u64 length = x->imm & 63, first = (u64)in->imm2 & 63;
    bool open = false;
    vx_read(x, 0, x->a, 16);
    vx_read(x, 1, x->b, 16);
    if (in->ops[in->n_ops - 1].kind != IP_OP_IMM) {
        u8 v[64];
        vx_value(x, 1, v, 16);
        length = v[where] & 63;
        first = v[where + 1] & 63;
        open = (x->b[where] | x->b[where + 1]) & 63;
    }
    u64 bits = length ? (1ull << length) - 1 : ~0ull, u = vx_get(x->a, 8);
    u = insert ? (u & ~(bits << first)) | (vx_get(x->b, 8) & bits) << first : u >> first & bits;
    vx_put(x->d, 8, open ? ~0ull : u);
    memset(x->d + 8, 0, 8);
    vx_write(x, 16, 8);
}

bool vx_move(struct vx *x) {
    struct tk *t = x->t;
    unsigned p = x->r->p, q = x->r->q, w = x->w;
    u8 cv[64];
    switch (x->r->cls) {
    case V_MOVE:
        w = op_size(x, 0);
        vx_read(x, 1, x->d, w);
        x->known = true;
        if (t->in->evex_k) vx_value(x, 1, x->value, w);
        vx_write(x, w, p);
        return true;
    case V_MOVELOW: move_low(x); return true;
    case V_MOVESCALAR: move_scalar(x, p); return true;
    case V_MOVEHALF: move_half(x, p); return true;
    case V_MOVHLPS:
    case V_MOVLHPS:
        vx_read(x, x->ia, x->a, 16);
        vx_read(x, x->ib, x->b, 16);
        copy(x->d, x->a, 16);
        if (x->r->cls == V_MOVHLPS)
            copy(x->d, x->b + 8, 8);
        else
            copy(x->d + 8, x->b, 8);
        vx_write(x, 16, 8);
        return true;
    case V_DUP: /* p = element size, q = 1: the odd ones */
        if (p == 8 && is_mem(x, 1) && w == 16)
            vx_read(x, 1, x->b, 8);
        else
            vx_read(x, 1, x->b, w);
        for (unsigned i = 0; i < w; i += p) copy(x->d + i, x->b + i / (2 * p) * 2 * p + q * p, p);
        vx_write(x, w, p);
        return true;
    case V_SHUF:
        vx_read(x, 1, x->b, w);
        shuffle_imm(x, p, q);
        vx_write(x, w, p);
        return true;
    case V_FIELD: field(x, q); return true;
    case V_BYTESHIFT:
        vx_read(x, legacy(x) ? 0 : 1, x->a, w);
        byte_shift(x, q);
        vx_write(x, w, 1);
        return true;
    case V_INSERT: insert(x, p); return true;
    case V_EXTRACT: extract(x, p); return true;
    case V_INSLANE: {
        unsigned k = x->imm & (w / p - 1);
        vx_read(x, 1, x->d, w);
        vx_read(x, 2, x->b, p);
        copy(x->d + k * p, x->b, p);
        vx_write(x, w, q);
        return true;
    }
    case V_EXTLANE: {
        unsigned n = op_size(x, 1), k = x->imm & (n / p - 1);
        vx_read(x, 1, x->b, n);
        copy(x->d, x->b + k * p, p);
        vx_write(x, p, q);
        return true;
    }
    case V_BCAST: { /* p = unit repeated, q = mask element */
        bool reg = t->in->ops[1].kind == IP_OP_GPR;
        vx_read(x, 1, x->b, reg && op_size(x, 1) < p ? op_size(x, 1) : p);
        for (unsigned i = 0; i < w; i += p) copy(x->d + i, x->b, p);
        if (t->in->evex_k) {
            vx_value(x, 1, cv, p);
            for (unsigned i = 0; i < w; i += p) copy(x->value + i, cv, p);
            x->known = true;
        }
        vx_write(x, w, q ? q : p);
        return true;
    }
    case V_EXTEND:
        extend(x, p & 15, q & 15, p & 16);
        vx_write(x, w, q & 15);
        return true;
    case V_TRUNC: { /* p source, q destination element, and how one saturates */
        unsigned n = op_size(x, 1), to = q & VX_SIZE, how = q & ~VX_SIZE;
        vx_read(x, 1, x->b, n);
        if (how) vx_value(x, 1, cv, n);
        memset(x->d, 0, sizeof x->d);
        for (unsigned i = 0; i < n / p; i++)
            vx_put(x->d + i * to, to,
                   how ? narrowed(vx_element(cv, x->b, i * p, p), p, to, how) : vx_get(x->b + i * p, p));
        vx_write(x, n / p * to, to); /* what is left of a register is zero, whatever the mask says of it */
        return true;
    }
    case V_PERM2SRC:
        permute_two(x, p, q);
        vx_write(x, w, p);
        return true;
    case V_MASKMOVE: masked_move(x, p); return true;
    case V_GATHER:
    case V_SCATTER:
    case V_COMPRESS:
    case V_EXPAND: vx_sparse(x); return true;
    case V_ZEROALL: zero_registers(t, 0); return true;
    case V_ZEROUPPER: zero_registers(t, 16); return true;
    case V_PERMVAR:                            /* control is op1, table op2; or an immediate */
        if (t->in->ops[2].kind == IP_OP_IMM) { /* vpermq, vpermpd; vpermilps, vpermilpd (q) */
            vx_read(x, 1, x->b, w);
            unsigned group = q ? 16 : w < 32 ? w : 32;
            for (unsigned i = 0; i < w; i += p) {
                unsigned in_group = i % group / p;
                unsigned k = p == 4 || !q ? x->imm >> 2 * in_group & 3 : x->imm >> i / 8 & 1;
                copy(x->d + i, x->b + i / group * group + k * p, p);
            }
        } else if (q) { /* vpermil: table op1, control op2; pd uses bit 1 */
            u8 c[64];
            vx_read(x, 1, x->a, w);
            read_control(x, 2, c);
            vx_value(x, 2, cv, w);
            if (p == 8)
                for (unsigned i = 0; i < w; i += 8) {
                    cv[i] >>= 1;
                    c[i] >>= 1;
                }
            pick(x, x->a, c, cv, p, 16);
        } else {
            read_control(x, 1, x->a);
            vx_value(x, 1, cv, w);
            vx_read(x, 2, x->b, w);
            pick(x, x->b, x->a, cv, p, w);
        }
        vx_write(x, w, p);
        return true;
    default: break;
    }
    if (x->r->cls > V_ZEROUPPER) return false;
    vx_read(x, x->ia, x->a, w); /* two sources from here on */
    vx_read(x, x->ib, x->b, x->r->cls == V_INSERTPS && is_mem(x, x->ib) ? 4 : w);
    switch (x->r->cls) {
    case V_UNPACK: unpack(x, p, q); break;
    case V_SHUFP: shuffle_two(x, p); break;
    case V_ALIGN:
        align_bytes(x);
        p = 1;
        break;
    case V_ALIGNELEM:
        for (unsigned i = 0; i < w; i += p) {
            unsigned k = (i / p + (x->imm & (w / p - 1))) * p;
            copy(x->d + i, k < w ? x->b + k : x->a + k - w, p);
        }
        break;
    case V_BLENDI:
        for (unsigned i = 0; i < w; i += p)
            copy(x->d + i, x->imm >> (p == 2 ? i / 2 % 8 : i / p) & 1 ? x->b + i : x->a + i, p);
        break;
    case V_INSERTPS: insert_ps(x); break;
    case V_PERM2:
        for (unsigned i = 0; i < 2; i++) {
            unsigned c = x->imm >> 4 * i;
            if (c & 8)
                memset(x->d + 16 * i, 0, 16);
            else
                copy(x->d + 16 * i, (c & 2 ? x->b : x->a) + 16 * (c & 1), 16);
        }
        break;
    case V_SHUFLANE: {
        unsigned per = w / 16, bits = per == 4 ? 2 : 1;
        for (unsigned i = 0; i < per; i++)
            copy(x->d + 16 * i, (i < per / 2 ? x->a : x->b) + 16 * (x->imm >> bits * i & (per - 1)), 16);
        break;
    }
    case V_PACK:
        pack(x, p, q);
        p /= 2;
        break;
    case V_PSHUFB:
        pshufb(x);
        p = 1;
        break;
    case V_BLENDV: blend_variable(x, p); break;
    case V_BLENDM: { /* the mask chooses, it does not merge */
        u64 m = vx_mask(x);
        u64 open = t->in->evex_k ? t->ts->vk[t->in->evex_k] : 0;
        u8 other[64] = {0}, other_u[64] = {0};
        if (open) {
            x->known = true;
            vx_value(x, x->ib, x->value, w);
            if (!t->in->evex_z) {
                vx_value(x, x->ia, other, w);
                copy(other_u, x->a, w);
            }
            copy(x->d, x->b, w);
        }
        for (unsigned i = 0; i < w; i += p) {
            bool on = m >> i / p & 1;
            if (open >> i / p & 1)
                for (unsigned b = i; b < i + p; b++) x->d[b] = vx_either(x, b, other_u[b], other[b]);
            else if (t->in->evex_z && !on)
                memset(x->d + i, 0, p);
            else
                copy(x->d + i, on ? x->b + i : x->a + i, p);
        }
        tk_set_vec(t, t->in->ops[0].reg, x->d, w, true);
        return true;
    }
    default: return false;
    }
    vx_write(x, w, p);
    return true;
}

bool vx_moved(struct vx *x) {
    switch (x->r->cls) {
    case V_MOVESCALAR:
    case V_DUP:
    case V_UNPACK:
    case V_SHUF:
    case V_SHUFP:
    case V_ALIGN:
    case V_ALIGNELEM:
    case V_INSLANE:
    case V_EXTLANE:
    case V_SHUFLANE:
    case V_EXTEND:
    case V_PSHUFB:
    case V_PERMVAR:
    case V_PERM2SRC: break;
    case V_TRUNC:
        if (x->r->q & ~VX_SIZE) return false; /* of values it would be a saturation */
        break;
    default: return false;
    }
    struct vx values = *x;
    values.of_values = true;
    vx_move(&values);
    memcpy(x->value, values.d, sizeof x->value);
    return true;
}
