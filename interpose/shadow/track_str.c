/* Tracking: string instructions, with all their repetitions at once, and others that store where a register says. */
#include "abi/inline/line.h"
#include "shadow/track.h"

struct str {
    u64 count;  /* repetitions asked for */
    i64 step;   /* +- element size */
    unsigned n; /* element size */
    u64 si, di;
};

static bool start(struct tk *t, struct str *s, unsigned n, bool uses_si, bool uses_di) {
    const struct ip_insn *in = t->in;
    const struct tstate *ts = t->ts;
    u64 am = tk_mask(in->mem.addr32 ? 4 : 8);
    *s = (struct str){.count = 1, .n = n, .step = ts->rflags & IP_FL_DF ? -(i64)n : (i64)n};
    if (in->rep) {
        if (ts->vgpr[IP_RCX] & am) {
            tk_report_cond(t);
            tk_set_gpr(t, IP_RCX, 0);
        }
        s->count = ts->gpr[IP_RCX] & am;
    }
    if (!s->count) return false;
    if (uses_si) {
        tk_check_gprs(t, 1u << IP_RSI, in->mem.addr32 ? 4 : 8);
        s->si = (ts->gpr[IP_RSI] & am) + tk_seg_base(t);
    }
    if (uses_di) {
        tk_check_gprs(t, 1u << IP_RDI, in->mem.addr32 ? 4 : 8);
        s->di = ts->gpr[IP_RDI] & am;
    }
    return true;
}

/* The whole range is addressable (so that it can be done in bulk)? */
static bool whole(struct tk *t, u64 at, u64 len) {
    u64 bad;
    return !rt_shadow_unaddr(t->ts, at, len, &bad);
}

static void movs(struct tk *t, unsigned n) {
    struct str s;
    if (!start(t, &s, n, true, true)) return;
    u64 len = s.count * n, v;
    u64 lo_s = s.step > 0 ? s.si : s.si - (len - n), lo_d = s.step > 0 ? s.di : s.di - (len - n);
    if (len / n == s.count && len < IP_CLIENT_END && whole(t, lo_s, len) && whole(t, lo_d, len) &&
        (lo_d + len <= lo_s || lo_s + len <= lo_d)) {
        sh_copy(sh_v(lo_d), sh_v(lo_s), len);
        sh_note_red_zone(t->ts, lo_d);
        sh_settled(lo_d, len);
        return;
    }
    for (u64 i = 0; i < s.count; i++, s.si += (u64)s.step, s.di += (u64)s.step) {
        v = tk_load8(t, s.si, n);
        tk_store8(t, s.di, n, v);
        u8 probe; /* the CPU will fault at the first missing page: stop there */
        if (rt_copy_from(&probe, s.si, 1) < 0 || rt_copy_from(&probe, s.di, 1) < 0) return;
    }
}

static void stos(struct tk *t, unsigned n) {
    struct str s;
    if (!start(t, &s, n, false, true)) return;
    u64 u = t->ts->vgpr[IP_RAX] & tk_mask(n), len = s.count * n;
    u64 lo = s.step > 0 ? s.di : s.di - (len - n);
    if (len / n == s.count && len < IP_CLIENT_END && !u && whole(t, lo, len)) {
        sh_fill(sh_v(lo), 0, len);
        sh_note_red_zone(t->ts, lo);
        sh_settled(lo, len);
        return;
    }
    for (u64 i = 0; i < s.count; i++, s.di += (u64)s.step) {
        tk_store8(t, s.di, n, u);
        u8 probe;
        if (rt_copy_from(&probe, s.di, 1) < 0) return;
    }
}

static void lods(struct tk *t, unsigned n) {
    struct str s;
    if (!start(t, &s, n, true, false)) return;
    u64 u = 0;
    for (u64 i = 0; i < s.count; i++, s.si += (u64)s.step) {
        u8 probe;
        u = tk_load8(t, s.si, n);
        if (rt_copy_from(&probe, s.si, 1) < 0) break;
    }
    u64 old = t->ts->vgpr[IP_RAX];
    tk_set_gpr(t, IP_RAX, n >= 4 ? u : (old & ~tk_mask(n)) | u);
}

#define PIECE 128 /* what is looked at together */

/* The first elements of a comparison that goes upwards, up to PIECE bytes: *done of them are defined, and so are
 * the flags behind them.  Whether the CPU ends there. */
static bool defined_piece(struct tk *t, const struct str *s, bool scan, u64 left, u64 *done) {
    u8 one[PIECE], other[PIECE];
    u64 bad, n = s->n, count = left < PIECE / n ? left : PIECE / n, a = t->ts->gpr[IP_RAX], b = 0;
    *done = 0;
    if (s->step < 0 || (scan && t->ts->vgpr[IP_RAX] & tk_mask(s->n))) return false;
    if (rt_shadow_undef(s->di, count * n, &bad) || rt_copy_from(other, s->di, count * n) < 0) return false;
    if (!scan && (rt_shadow_undef(s->si, count * n, &bad) || rt_copy_from(one, s->si, count * n) < 0)) return false;
    bool until = t->in->rep != 0xf3; /* ends where they are equal */
    for (; *done < count; ++*done) {
        memcpy(&b, other + *done * n, n);
        if (!scan) memcpy(&a, one + *done * n, n);
        if (!((a ^ b) & tk_mask(s->n)) == until) break;
    }
    tk_set_flags(t, 0);
    return *done < count;
}

/* cmps (two streams) and scas (against the accumulator): as far as the CPU will go. */
static void compare(struct tk *t, unsigned n, bool scan) {
    struct str s;
    if (!start(t, &s, n, !scan, true)) return;
    u64 m = tk_mask(n), done = 1;
    for (u64 i = 0; i < s.count; i++, s.si += (u64)s.step, s.di += (u64)s.step) {
        while (t->in->rep && done && i < s.count) { /* from the first piece on that is not defined, one by one */
            if (defined_piece(t, &s, scan, s.count - i, &done)) return;
            i += done, s.si += done * n, s.di += done * n;
        }
        if (i == s.count) return;
        tkval a = {t->ts->gpr[IP_RAX] & m, t->ts->vgpr[IP_RAX] & m}, b = {0, 0};
        u64 unused;
        u8 probe;
        if (!scan) {
            a.v = 0;
            a.u = tk_load8(t, s.si, n);
            tk_value(s.si, n, &a.v);
        }
        b.u = tk_load8(t, s.di, n);
        tk_value(s.di, n, &b.v);
        u8 f = tk_fl_sub(a, b, (tkval){0, 0}, n, &unused);
        if (t->in->rep && (f & TK_Z) && s.count > 1) { /* whether to go on hangs on it */
            tk_report_cond(t);
            f &= (u8)~TK_Z;
        }
        tk_set_flags(t, f);
        if (t->in->rep && (a.v == b.v) != (t->in->rep == 0xf3)) return;
        if ((!scan && rt_copy_from(&probe, s.si, 1) < 0) || rt_copy_from(&probe, s.di, 1) < 0) return;
    }
}

/* maskmovdqu, maskmovq: bytes of a register to [rdi], those whose mask byte has its top bit set. */
static void mask_store(struct tk *t) {
    const struct ip_insn *in = t->in;
    u8 data[16], data_u[16], mask[16], mask_u[16];
    bool mmx = in->mnem == IP_MN_MASKMOVQ, all = true;
    unsigned n = mmx ? 8 : 16, from = in->ops[1].reg, by = in->ops[2].reg, width = in->mem.addr32 ? 4 : 8;
    u64 v = mmx ? tk_mmx_value(t, by) : 0, w = mmx ? tk_mmx_value(t, from) : 0, bad;
    memcpy(mask, mmx ? (const u8 *)&v : tk_vec_value(t, by), n);
    memcpy(mask_u, mmx ? (const u8 *)&t->ts->vmmx[by] : t->ts->vvec + 64 * by, n);
    memcpy(data, mmx ? (const u8 *)&w : tk_vec_value(t, from), n);
    memcpy(data_u, mmx ? (const u8 *)&t->ts->vmmx[from] : t->ts->vvec + 64 * from, n);
    tk_check_gprs(t, 1u << IP_RDI, width);
    u64 at = (t->ts->gpr[IP_RDI] & tk_mask(width)) + tk_seg_base(t);
    for (unsigned i = 0; i < n; i++) all &= (mask[i] & ~mask_u[i]) >> 7;
    if (all) tk_store(t, at, n, data_u);
    for (unsigned i = 0; i < n && !all; i++) {
        bool on = mask[i] & 0x80, open = mask_u[i] & 0x80;
        u8 u = data_u[i], old_u, old;
        if (open && !rt_shadow_unaddr(t->ts, at + i, 1, &bad)) { /* either of two bytes */
            sh_access(t->ts, at + i, 1, &old_u);
            tk_value(at + i, 1, &old);
            u |= old_u | (old ^ data[i]);
            tk_store(t, at + i, 1, &u);
        } else if (on) {
            tk_store(t, at + i, 1, &u);
        }
    }
}

/* movdir64b: from memory to where a register says. */
static void direct_store(struct tk *t) {
    u8 v[64];
    unsigned to = t->in->ops[0].reg, width = t->in->mem.addr32 ? 4 : 8;
    tk_load(t, tk_ea(t), sizeof v, v);
    tk_check_gprs(t, (u16)(1u << to), width);
    tk_store(t, t->ts->gpr[to] & tk_mask(width), sizeof v, v);
}

static void clear_line(struct tk *t) {
    static const u8 zeros[IP_LINE];
    tk_check_gprs(t, 1u << IP_RAX, t->in->mem.addr32 ? 4 : 8);
    tk_store(t, ip_line_of(t->in, t->ts->gpr[IP_RAX], tk_seg_base(t)), IP_LINE, zeros);
}

bool tk_string(struct tk *t) {
    if (ip_clears_line(t->in)) {
        clear_line(t);
        return true;
    }
    if (t->in->mnem == IP_MN_MOVDIR64B) {
        direct_store(t);
        return true;
    }
    if (t->in->mnem == IP_MN_MASKMOVDQU || t->in->mnem == IP_MN_VMASKMOVDQU || t->in->mnem == IP_MN_MASKMOVQ) {
        mask_store(t);
        return true;
    }
    if (t->in->map != 0) return false; /* movsd and cmpsd of SSE2 share the mnemonic */
    switch (t->in->mnem) {
    case IP_MN_MOVSB: movs(t, 1); return true;
    case IP_MN_MOVSW: movs(t, 2); return true;
    case IP_MN_MOVSD: movs(t, 4); return true;
    case IP_MN_MOVSQ: movs(t, 8); return true;
    case IP_MN_STOSB: stos(t, 1); return true;
    case IP_MN_STOSW: stos(t, 2); return true;
    case IP_MN_STOSD: stos(t, 4); return true;
    case IP_MN_STOSQ: stos(t, 8); return true;
    case IP_MN_LODSB: lods(t, 1); return true;
    case IP_MN_LODSW: lods(t, 2); return true;
    case IP_MN_LODSD: lods(t, 4); return true;
    case IP_MN_LODSQ: lods(t, 8); return true;
    case IP_MN_CMPSB: compare(t, 1, false); return true;
    case IP_MN_CMPSW: compare(t, 2, false); return true;
    case IP_MN_CMPSD: compare(t, 4, false); return true;
    case IP_MN_CMPSQ: compare(t, 8, false); return true;
    case IP_MN_SCASB: compare(t, 1, true); return true;
    case IP_MN_SCASW: compare(t, 2, true); return true;
    case IP_MN_SCASD: compare(t, 4, true); return true;
    case IP_MN_SCASQ: compare(t, 8, true); return true;
    default: return false;
    }
}
