/* Tracking: vector instructions whose elements depend on more than the elements
 * beside them (lanes of 16 bytes, all pairs, bit matrices), and what goes between
 * vectors and mask registers.
 */
#include "shadow/track_vec.h"

/* Any open bit of a lane's sources opens the lane; p: mask element, q = 1: one source. */
static void lane16(struct vx *x) {
    vx_read(x, x->r->q ? 1 : x->ia, x->a, x->w);
    if (x->r->q)
        memset(x->b, 0, x->w);
    else
        vx_read(x, x->ib, x->b, x->w);
    for (unsigned i = 0; i < x->w; i += 16) {
        if (x->t->in->mnem == IP_MN_SHA256RNDS2) /* and xmm0, which is not named */
            for (unsigned b = 0; b < 16; b++) x->a[b] |= x->t->ts->vvec[b];
        u64 open = vx_get(x->a + i, 8) | vx_get(x->a + i + 8, 8) | vx_get(x->b + i, 8) | vx_get(x->b + i + 8, 8);
        memset(x->d + i, open ? 0xff : 0, 16);
    }
    vx_write(x, x->w, x->r->p);
}

/* pclmulqdq: one half of each source's lane. */
static void clmul(struct vx *x) {
    unsigned ha = x->imm & 1 ? 8 : 0, hb = x->imm & 16 ? 8 : 0;
    vx_read(x, x->ia, x->a, x->w);
    vx_read(x, x->ib, x->b, x->w);
    for (unsigned i = 0; i < x->w; i += 16)
        memset(x->d + i, vx_get(x->a + i + ha, 8) | vx_get(x->b + i + hb, 8) ? 0xff : 0, 16);
    vx_write(x, x->w, 16);
}

/* gf2p8affineqb: a byte times the matrix of its eight bytes.  Bit k is the parity of what row 7 - k selects of the
 * byte: compilers shift and turn bytes by it, and what is selected by zeros does not matter.  Of the inverse all bits
 * hang on each other. */
static void affine(struct vx *x) {
    bool inverse = x->t->in->mnem == IP_MN_VGF2P8AFFINEINVQB || x->t->in->mnem == IP_MN_GF2P8AFFINEINVQB;
    u8 av[64], bv[64];
    vx_read(x, x->ia, x->a, x->w);
    vx_read(x, x->ib, x->b, x->w);
    vx_value(x, x->ia, av, x->w);
    vx_value(x, x->ib, bv, x->w);
    for (unsigned i = 0; i < x->w; i++) {
        tkval a = {inverse ? 0xff : av[i], inverse && x->a[i] ? 0xff : x->a[i]};
        u8 open = 0;
        for (unsigned k = 0; k < 8; k++) {
            tkval row = vx_element(bv, x->b, (i & ~7u) + 7 - k, 1);
            open |= (u8)((tk_and(a, row).u != 0) << k);
        }
        x->d[i] = open;
    }
    vx_write(x, x->w, x->r->p);
}

/* Bit j of element i: is it equal to element j before it. */
static void conflict(struct vx *x, unsigned es) {
    u8 v[64];
    vx_read(x, 1, x->a, x->w);
    vx_value(x, 1, v, x->w);
    for (unsigned i = 0; i < x->w / es; i++) {
        u64 open = 0;
        for (unsigned j = 0; j < i; j++)
            open |= (u64)vx_open_equal(vx_element(v, x->a, i * es, es), vx_element(v, x->a, j * es, es)) << j;
        vx_put(x->d + i * es, es, open);
    }
    vx_write(x, x->w, es);
}

/* Two elements side by side, shifted, or one twice, which turns it; q: 0 left, 1 right; a count in each element if the
 * last operand is none. */
static void double_shift(struct vx *x, unsigned es, bool right) {
    const struct ip_insn *in = x->t->in;
    bool by_imm = in->ops[in->n_ops - 1].kind == IP_OP_IMM, once = x->r->cls == V_ROTATE;
    unsigned bits = 8 * es, first = by_imm || once, second = first + !once;
    u8 c[64] = {0}, cv[64] = {0};
    vx_read(x, first, x->a, x->w);
    vx_read(x, second, x->b, x->w);
    if (!by_imm) {
        vx_read(x, 2, c, x->w);
        vx_value(x, 2, cv, x->w);
    }
    for (unsigned i = 0; i < x->w; i += es) {
        u64 a = vx_get(x->a + i, es), b = vx_get(x->b + i, es);
        unsigned k = (by_imm ? x->imm : (unsigned)vx_get(cv + i, es)) & (bits - 1);
        u64 u = k == 0 ? a : right ? a >> k | b << (bits - k) : a << k | b >> (bits - k);
        vx_put(x->d + i, es, vx_get(c + i, es) & (bits - 1) ? ~0ull : u);
    }
    vx_write(x, x->w, es);
}

/* vpmultishiftqb: each byte of a says from which bit on eight of the eight bytes of b beside it are taken. */
static void shift_bytes(struct vx *x) {
    u8 from[64];
    vx_read(x, x->ia, x->a, x->w);
    vx_read(x, x->ib, x->b, x->w);
    vx_value(x, x->ia, from, x->w);
    for (unsigned i = 0; i < x->w; i++) {
        u64 b = vx_get(x->b + (i & ~7u), 8);
        unsigned k = from[i] & 63;
        x->d[i] = x->a[i] & 63 ? 0xff : (u8)(b >> k | b << (-k & 63));
    }
    vx_write(x, x->w, x->r->p);
}

/* vpmovm2*: each bit fills an element. */
static void mask_to_elements(struct vx *x, unsigned es) {
    u64 open = x->t->ts->vk[x->t->in->ops[1].reg];
    for (unsigned i = 0; i < x->w; i += es) vx_put(x->d + i, es, open >> i / es & 1 ? ~0ull : 0);
    vx_write(x, x->w, es);
}

/* vpbroadcastm*: its low q bits in every element. */
static void mask_in_elements(struct vx *x, unsigned es, unsigned q) {
    u64 open = x->t->ts->vk[x->t->in->ops[1].reg] & ((1ull << q) - 1);
    for (unsigned i = 0; i < x->w; i += es) vx_put(x->d + i, es, open);
    vx_write(x, x->w, es);
}

/* vpshufbitqmb: each byte of b chooses a bit of the eight bytes of a beside it. */
static void choose_bits(struct vx *x) {
    u8 cv[64];
    u64 open = 0;
    vx_read(x, x->ia, x->a, x->w);
    vx_read(x, x->ib, x->b, x->w);
    vx_value(x, x->ib, cv, x->w);
    for (unsigned i = 0; i < x->w; i++) {
        u64 any = vx_get(x->a + (i & ~7u), 8) >> (cv[i] & 63) & 1;
        open |= (u64)((x->b[i] & 63) || any) << i;
    }
    vx_to_mask(x, open, ~0ull, x->w);
}

bool vx_lanes(struct vx *x) {
    unsigned p = x->r->p, q = x->r->q;
    switch (x->r->cls) {
    case V_LANE16: lane16(x); return true;
    case V_CLMUL: clmul(x); return true;
    case V_AFFINE: affine(x); return true;
    case V_CONFLICT: conflict(x, p); return true;
    case V_SHIFT2:
    case V_ROTATE: double_shift(x, p, q); return true;
    case V_MULTISHIFT: shift_bytes(x); return true;
    case V_MASKFILL: mask_to_elements(x, p); return true;
    case V_MASKIN: mask_in_elements(x, p, q); return true;
    case V_BITCHOICE: choose_bits(x); return true;
    default: return false;
    }
}
