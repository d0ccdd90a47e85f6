/* Tracking: vector instructions whose elements are not side by side in memory,
 * or change places by a mask: gathers, scatters, compressions, expansions. */
#include "shadow/origin.h"
#include "shadow/track_vec.h"

/* Addresses of a gather's or scatter's elements. */
struct sparse {
    u64 base, mask; /* what the index is added to; address size */
    u64 on, open;   /* elements that take part; those of which it is not known */
    unsigned n, es, is;
    const u8 *iv, *iu; /* indices: values, V bits */
    bool reported;
};

static void sparse_begin(struct vx *x, struct sparse *s, unsigned vector) {
    struct tk *t = x->t;
    const struct ip_insn *in = t->in;
    const struct ip_mem *m = &in->mem;
    unsigned size = m->addr32 ? 4 : 8, by_index;
    s->is = x->r->p;
    s->es = x->r->q;
    s->n = in->ops[vector].size / s->es;
    by_index = m->vsib / s->is;
    if (by_index < s->n) s->n = by_index;
    tk_check_gprs(t, (u16)(m->base < 16 ? 1u << m->base : 0), size);
    s->base = (u64)m->disp + (m->base < 16 ? t->ts->gpr[m->base] : m->rip_target);
    s->mask = tk_mask(size);
    s->iv = tk_vec_value(t, m->index);
    s->iu = t->ts->vvec + 64 * m->index;
    s->reported = false;
    s->on = s->open = 0;
    if (in->enc == IP_ENC_EVEX) {
        s->on = tk_k_value(t, in->evex_k);
        s->open = t->ts->vk[in->evex_k];
        return;
    }
    u8 v[64], u[64]; /* the top bits of a vector */
    vx_read(x, 2, u, 64);
    vx_value(x, 2, v, 64);
    for (unsigned i = 0; i < s->n; i++) {
        s->on |= (u64)(v[(i + 1) * s->es - 1] >> 7) << i;
        s->open |= (u64)(u[(i + 1) * s->es - 1] >> 7) << i;
    }
}

static u64 element(const struct vx *x, const struct sparse *s, unsigned i) {
    u64 index = tk_sext(vx_get(s->iv + i * s->is, s->is), s->is) * x->t->in->mem.scale;
    return ((s->base + index) & s->mask) + tk_seg_base(x->t);
}

/* Where element i is; false: it takes no part. */
static bool sparse_at(struct vx *x, struct sparse *s, unsigned i, u64 *at) {
    bool on = s->on >> i & 1;
    if (!s->reported && ((s->open >> i & 1) || (on && vx_get(s->iu + i * s->is, s->is)))) {
        tk_report_value(x->t, 8);
        s->reported = true;
    }
    *at = element(x, s, i);
    return on;
}

/* Are mask, indices and all elements that take part defined?  Nearly all are: only what has rules of its own brings
 * gathers of them here. */
static bool all_defined(const struct vx *x, const struct sparse *s) {
    u64 all = (1ull << s->n) - 1, word = 0;
    if (s->open & all) return false;
    for (u64 on = s->on & all; on; on &= on - 1) {
        unsigned i = (unsigned)__builtin_ctzll(on);
        u64 at = element(x, s, i);
        if (vx_get(s->iu + i * s->is, s->is) || at > IP_CLIENT_END - sizeof word) return false;
        if (sh_read(&word, sh_v(at), s->es) < 0 || word) return false;
    }
    return true;
}

static void gather(struct vx *x) {
    static const u8 zero[64];
    struct tk *t = x->t;
    const struct ip_insn *in = t->in;
    struct sparse s;
    u64 at;
    sparse_begin(x, &s, 0);
    memcpy(x->d, t->ts->vvec + 64 * in->ops[0].reg, 64);
    bool plain = all_defined(x, &s);
    for (unsigned i = 0; i < s.n; i++) {
        u8 *to = x->d + i * s.es;
        if (!plain) {
            if (!sparse_at(x, &s, i, &at)) continue;
            tk_load_elements(t, at, s.es, to);
        } else if (s.on >> i & 1) {
            memset(to, 0, s.es);
        }
    }
    unsigned used = s.n * s.es;
    memset(x->d + used, 0, sizeof x->d - used);
    tk_set_vec(t, in->ops[0].reg, x->d, used < 16 ? 16 : used, true);
    if (in->enc == IP_ENC_EVEX) /* the mask is cleared */
        tk_set_k(t, in->evex_k, 0);
    else
        tk_set_vec(t, in->ops[2].reg, zero, 64, false);
}

static void scatter(struct vx *x) {
    struct tk *t = x->t;
    struct sparse s;
    u64 at;
    sparse_begin(x, &s, 1);
    vx_read(x, 1, x->d, 64);
    for (unsigned i = 0; i < s.n; i++)
        if (sparse_at(x, &s, i, &at)) tk_store_elements(t, at, s.es, x->d + i * s.es);
    tk_set_k(t, t->in->evex_k, 0);
}

/* The mask over n elements; *from: the first of which it is not known. */
static u64 selected(struct vx *x, unsigned n, unsigned *from) {
    u64 all = n >= 64 ? ~0ull : (1ull << n) - 1;
    u64 open = x->t->in->evex_k ? x->t->ts->vk[x->t->in->evex_k] & all : 0;
    *from = open ? (unsigned)__builtin_ctzll(open) : n;
    return vx_mask(x) & all;
}

/* The elements that the mask selects, side by side at the destination's beginning. */
static void compress(struct vx *x) {
    struct tk *t = x->t;
    const struct ip_insn *in = t->in;
    unsigned es = x->r->p, n = in->ops[1].size / es, from, made = 0, sure = 0;
    u64 k = selected(x, n, &from);
    vx_read(x, 1, x->a, n * es);
    for (unsigned i = 0; i < n; i++) {
        if (i == from) sure = made;
        if (k >> i & 1) memcpy(x->d + made++ * es, x->a + i * es, es);
    }
    if (from == n) sure = made;
    if (in->ops[0].kind == IP_OP_MEM) {
        u64 at = tk_ea(t);
        if (from < n) memset(x->d + sure * es, 0xff, (n - sure) * es);
        if (made) tk_store_elements(t, at, made * es, x->d);
        /* Behind it an undefined mask may store as well: no access, but no value that is sure, either. */
        unsigned most = made;
        if (from < n) most += (unsigned)__builtin_popcountll(t->ts->vk[in->evex_k] & ~k & (~0ull >> (64 - n)));
        for (u64 to = at + made * es; to < at + most * es; to += es)
            if (!(sh_access(t->ts, to, es, NULL) & SH_ACC_UNADDR)) tk_store_elements(t, to, es, x->d + (to - at));
        return;
    }
    const u8 *old = t->ts->vvec + 64 * in->ops[0].reg;
    for (unsigned i = made; i < n; i++)
        if (in->evex_z)
            memset(x->d + i * es, 0, es);
        else
            memcpy(x->d + i * es, old + i * es, es);
    if (from < n) memset(x->d + sure * es, 0xff, (n - sure) * es);
    tk_set_vec(t, in->ops[0].reg, x->d, n * es, true);
}

/* The source's elements, taken one after the other, where the mask selects. */
static void expand(struct vx *x) {
    struct tk *t = x->t;
    const struct ip_insn *in = t->in;
    unsigned es = x->r->p, n = in->ops[0].size / es, from, taken = 0;
    u64 k = selected(x, n, &from);
    if (in->ops[1].kind == IP_OP_MEM) {
        u64 at = tk_ea(t);
        unsigned count = 0;
        for (unsigned i = 0; i < n; i++) count += k >> i & 1;
        if (count) tk_load_elements(t, at, count * es, x->a);
    } else {
        vx_read(x, 1, x->a, n * es);
    }
    for (unsigned i = 0; i < n; i++) {
        if (!(k >> i & 1)) continue; /* vx_write takes the old one, or zero */
        memcpy(x->d + i * es, x->a + taken++ * es, es);
        if (i >= from) memset(x->d + i * es, 0xff, es);
    }
    vx_write(x, n * es, es);
}

void vx_sparse(struct vx *x) {
    switch (x->r->cls) {
    case V_GATHER: gather(x); break;
    case V_SCATTER: scatter(x); break;
    case V_COMPRESS: compress(x); break;
    default: expand(x); break;
    }
}
