/* Tracking: shifts, rotates, bit tests, bit scans, BMI. */
#include "shadow/track.h"

static u64 low_bits(unsigned bits) { return bits >= 64 ? ~0ull : (1ull << bits) - 1; }

/* Merge flags: CF and OF new, the others kept (rotates). */
static void keep_zsp(struct tk *t, bool ub, bool b, bool uo, bool o) {
    const u64 which = IP_FL_CF | IP_FL_OF;
    u64 v = (t->ts->rflags & ~which) | (b ? IP_FL_CF : 0) | (o ? IP_FL_OF : 0);
    u64 u = (tk_fl_word(t->ts->vflags) & ~which) | (ub ? IP_FL_CF : 0) | (uo ? IP_FL_OF : 0);
    u8 f = tk_fl_of_bits(v, u);
    if (!o) /* OF's value may not be known: both must agree */
        f |= tk_fl_of_bits(v | IP_FL_OF, u);
    tk_set_flags(t, f);
}

static tkval count_operand(struct tk *t, unsigned i, unsigned n) {
    tkval c;
    if (t->in->n_ops <= i) /* the by-one form, if it has no operand */
        return (tkval){1, 0};
    c = tk_rd(t, i);
    u64 m = n == 8 ? 63 : 31;
    c.v &= m;
    c.u &= m;
    return c;
}

/* Zero is zero, however far it is shifted: the upper halves of wide integers often are. */
static bool stays(tkval a, u64 m, bool arithmetic) { return !a.u && (!a.v || (arithmetic && a.v == m)); }

u8 tk_fl_shift(tkval a, unsigned k, enum tk_shift how, unsigned n, u64 *ru) {
    unsigned bits = 8 * n, top = bits - 1;
    u64 m = tk_mask(n), rv, cu, cv;
    if (how == TK_SHL) {
        *ru = a.u << k & m;
        rv = a.v << k & m;
        cu = k <= bits ? a.u >> (bits - k) & 1 : 0;
        cv = k <= bits ? a.v >> (bits - k) & 1 : 0;
    } else {
        u64 su = how == TK_SAR ? tk_sext(a.u, n) : a.u, sv = how == TK_SAR ? tk_sext(a.v, n) : a.v;
        *ru = (how == TK_SAR ? (u64)((i64)su >> k) : su >> k) & m;
        rv = (how == TK_SAR ? (u64)((i64)sv >> k) : sv >> k) & m;
        cu = (how == TK_SAR ? (u64)((i64)su >> (k - 1)) : su >> (k - 1)) & 1;
        cv = (how == TK_SAR ? (u64)((i64)sv >> (k - 1)) : sv >> (k - 1)) & 1;
    }
    bool uo, o;
    if (k != 1) { /* the CPU's choice */
        uo = a.u != 0;
        o = false;
        if (how != TK_SAR && k > bits) cu = a.u != 0;
    } else if (how == TK_SHL) {
        uo = (*ru >> top & 1) | cu;
        o = (rv >> top & 1) ^ cv;
    } else if (how == TK_SHR) {
        uo = a.u >> top & 1;
        o = a.v >> top & 1;
    } else {
        uo = o = false;
    }
    u8 f = tk_fl_make(rv, *ru, n, cu, cv, uo, o);
    if (k != 1 && f) f |= (u8)((f & TK_S || uo ? TK_L : 0) | (f & (TK_S | TK_Z) || uo ? TK_LE : 0));
    return f;
}

static void shift(struct tk *t, enum tk_shift how) {
    unsigned n = t->in->ops[0].size;
    u64 m = tk_mask(n), ru;
    tkval a = tk_rd(t, 0), c = count_operand(t, 1, n);
    if (c.u) {
        tk_wr(t, 0, stays(a, m, how == TK_SAR) ? 0 : m);
        tk_set_flags(t, TK_ALL);
        return;
    }
    if (!c.v) { /* nothing changes, but a 32-bit register is zero-extended */
        tk_wr(t, 0, a.u);
        return;
    }
    u8 f = tk_fl_shift(a, (unsigned)c.v, how, n, &ru);
    tk_wr(t, 0, ru);
    tk_set_flags(t, f);
}

enum { ROL, ROR, RCL, RCR };

static void rotate(struct tk *t, int how) {
    unsigned n = t->in->ops[0].size, bits = 8 * n;
    u64 m = tk_mask(n);
    tkval a = tk_rd(t, 0), c = count_operand(t, 1, n);
    bool carry_u = t->ts->vflags & TK_B, carry_v = tk_flag(t, IP_FL_CF);
    if (c.u) {
        bool any = a.u || carry_u || !(a.v == 0 || a.v == m) || how >= RCL;
        tk_wr(t, 0, any ? m : a.u);
        keep_zsp(t, true, false, true, false);
        return;
    }
    unsigned k = (unsigned)c.v;
    if (!k) {
        tk_wr(t, 0, a.u);
        return;
    }
    u64 ru = a.u, rv = a.v;
    bool cu, cv;
    if (how <= ROR) {
        unsigned r = k % bits;
        if (r) {
            unsigned l = how == ROL ? r : bits - r;
            ru = (a.u << l | a.u >> (bits - l)) & m;
            rv = (a.v << l | a.v >> (bits - l)) & m;
        }
        unsigned at = how == ROL ? 0 : bits - 1;
        cu = ru >> at & 1;
        cv = rv >> at & 1;
    } else { /* through the carry: bits + 1 places */
        cu = carry_u;
        cv = carry_v;
        for (unsigned i = 0; i < k % (bits + 1); i++) {
            bool ou, ov;
            if (how == RCL) {
                ou = ru >> (bits - 1) & 1;
                ov = rv >> (bits - 1) & 1;
                ru = (ru << 1 | cu) & m;
                rv = (rv << 1 | cv) & m;
            } else {
                ou = ru & 1;
                ov = rv & 1;
                ru = ru >> 1 | (u64)cu << (bits - 1);
                rv = rv >> 1 | (u64)cv << (bits - 1);
            }
            cu = ou;
            cv = ov;
        }
        if (k % (bits + 1) == 0) {
            tk_wr(t, 0, ru);
            if (a.u || carry_u) /* OF is the CPU's choice */
                keep_zsp(t, cu, cv, true, false);
            return;
        }
    }
    bool uo, o;
    u64 top = ru >> (bits - 1) & 1, next = ru >> (bits - 2) & 1;
    u64 topv = rv >> (bits - 1) & 1, nextv = rv >> (bits - 2) & 1;
    if (k != 1) { /* made from operand and carry by some CPUs, left as it was by others */
        uo = a.u || carry_u || (t->ts->vflags & TK_O);
        o = false;
    } else if (how == ROL || how == RCL) {
        uo = top | cu;
        o = topv ^ cv;
    } else {
        uo = top | next;
        o = topv ^ nextv;
    }
    tk_wr(t, 0, ru);
    keep_zsp(t, cu, cv, uo, o);
}

static void double_shift(struct tk *t, bool left) {
    unsigned n = t->in->ops[0].size, bits = 8 * n;
    u64 m = tk_mask(n);
    tkval a = tk_rd(t, 0), b = tk_rd(t, 1), c = count_operand(t, 2, n);
    unsigned k = (unsigned)c.v;
    if (c.u || (k > bits && (a.u || b.u))) {
        tk_wr(t, 0, m);
        tk_set_flags(t, TK_ALL);
        return;
    }
    if (!k || k > bits) {
        tk_wr(t, 0, k ? 0 : a.u);
        if (k) tk_set_flags(t, 0);
        return;
    }
    unsigned __int128 wu, wv;
    u64 ru, rv;
    bool cu, cv;
    if (left) {
        wu = (unsigned __int128)a.u << bits | b.u;
        wv = (unsigned __int128)a.v << bits | b.v;
        ru = (u64)(wu >> (bits - k)) & m;
        rv = (u64)(wv >> (bits - k)) & m;
        cu = a.u >> (bits - k) & 1;
        cv = a.v >> (bits - k) & 1;
    } else {
        wu = (unsigned __int128)b.u << bits | a.u;
        wv = (unsigned __int128)b.v << bits | a.v;
        ru = (u64)(wu >> k) & m;
        rv = (u64)(wv >> k) & m;
        cu = a.u >> (k - 1) & 1;
        cv = a.v >> (k - 1) & 1;
    }
    bool any = a.u || b.u;
    u8 f = tk_fl_make(rv, ru, n, cu, cv, any, false);
    if (any) f |= TK_L | TK_LE; /* OF is the CPU's choice */
    tk_wr(t, 0, ru);
    tk_set_flags(t, f);
}

/* bt, bts, btr, btc: a register index into memory moves the address, and only its
 * lowest three bits choose within the byte found there. */
static void bit_test(struct tk *t, bool store) {
    const struct ip_operand *op = t->in->ops;
    unsigned n = op[0].size;
    bool string = tk_in_bit_string(t->in);
    tkval i = tk_rd(t, 1), a;
    if (string) {
        u64 at = tk_ea(t);
        n = 1;
        if (i.u & ~7ull) {
            tk_report_value(t, 8);
            tk_set_gpr(t, op[1].reg, t->ts->vgpr[op[1].reg] & ~(tk_mask(op[1].size) & ~7ull));
        }
        a.u = tk_load8(t, at, n);
        a.v = 0;
        tk_value(at, n, &a.v);
    } else {
        a = tk_rd(t, 0);
    }
    unsigned bits = 8 * n;
    u64 at = i.v & (bits - 1), iu = i.u & (bits - 1), ru = a.u;
    bool cu = iu ? true : a.u >> at & 1, cv = a.v >> at & 1;
    if (store) {
        if (!iu)
            ru &= t->in->mnem == IP_MN_BTC ? ~0ull : ~(1ull << at);
        else if (t->in->mnem == IP_MN_BTS) /* whichever bit it is, a defined 1 stays */
            ru = ~a.v | a.u;
        else if (t->in->mnem == IP_MN_BTR) /* and so does a defined 0 */
            ru = a.v | a.u;
        else
            ru = ~0ull;
        if (string)
            tk_store8(t, tk_ea(t), n, ru & tk_mask(n));
        else
            tk_wr(t, 0, ru);
    }
    u64 v = (t->ts->rflags & ~(u64)IP_FL_CF) | (cv ? IP_FL_CF : 0);
    u64 u = (tk_fl_word(t->ts->vflags) & ~(u64)IP_FL_CF) | (cu ? IP_FL_CF : 0);
    tk_set_flags(t, tk_fl_of_bits(v, u));
}

/* Scans: settled when a defined 1 comes before every undefined bit. */
static void scan(struct tk *t, bool from_top, bool zero_is_size) {
    unsigned n = t->in->ops[0].size, bits = 8 * n;
    tkval s = tk_rd(t, 1);
    u64 ones = s.v & ~s.u & tk_mask(n);
    bool settled, some = ones != 0;
    if (from_top)
        settled = some && (!s.u || ones > s.u);
    else
        settled = some && (!s.u || (ones & -ones) < (s.u & -s.u));
    if (!s.u) settled = true;
    bool zero = !(s.v & tk_mask(n)), uz = s.u && !some;
    u64 u = settled ? 0 : low_bits(bits == 64 ? 7 : bits == 32 ? 6 : 5);
    u64 fv = 0, fu = 0;
    if (zero_is_size) { /* tzcnt, lzcnt: CF = source is zero, ZF = result is zero */
        u64 edge = from_top ? 1ull << (bits - 1) : 1;
        fv = (zero ? IP_FL_CF : 0) | (s.v & edge ? IP_FL_ZF : 0);
        fu = (uz ? IP_FL_CF : 0) | (s.u & edge ? IP_FL_ZF : 0);
        fu |= s.u ? IP_FL_OF | IP_FL_SF | IP_FL_PF : tk_fl_word(t->ts->vflags) & (IP_FL_OF | IP_FL_SF | IP_FL_PF);
        tk_wr(t, 0, u);
    } else { /* bsf, bsr: the destination stays when the source is zero */
        u64 old = t->in->ops[0].kind == IP_OP_GPR ? t->ts->vgpr[t->in->ops[0].reg] : 0;
        fv = zero ? IP_FL_ZF : 0;
        fu = uz ? IP_FL_ZF : 0;
        const u64 rest = IP_FL_CF | IP_FL_OF | IP_FL_SF | IP_FL_PF;
        fu |= s.u ? rest : tk_fl_word(t->ts->vflags) & rest; /* or left alone */
        if (uz)
            tk_wr(t, 0, tk_mask(n));
        else if (!zero || s.u)
            tk_wr(t, 0, u);
        else
            tk_wr(t, 0, old);
        if (uz && n == 4)
            tk_set_gpr(t, t->in->ops[0].reg, old | 0xffffffffull | t->ts->gpr[t->in->ops[0].reg]);
        else if (n == 4 && zero && !s.u)
            tk_set_gpr(t, t->in->ops[0].reg, old);
    }
    u8 f = tk_fl_of_bits(fv, fu);
    if (fu & (IP_FL_SF | IP_FL_OF)) /* their values are not known here */
        f |= TK_L | TK_LE;
    if (fu & IP_FL_CF) f |= TK_BE;
    tk_set_flags(t, f);
}

static void popcount(struct tk *t) {
    unsigned n = t->in->ops[0].size;
    tkval s = tk_rd(t, 1);
    u64 least = (u64)__builtin_popcountll(s.v & ~s.u), most = (u64)__builtin_popcountll(s.v | s.u);
    tk_wr(t, 0, tk_between(least, most) & tk_mask(n));
    tk_set_flags(t, tk_fl_of_bits(most ? 0 : IP_FL_ZF, !least && most ? IP_FL_ZF : 0));
}

/* ---- BMI --------------------------------------------------------------------------------- */

static void andn(struct tk *t) {
    tkval a = tk_rd(t, 1), b = tk_rd(t, 2);
    a.v = ~a.v;
    u64 u = tk_and(a, b).u;
    tk_wr(t, 0, u);
    tk_set_flags(t, tk_fl_logic(a.v & b.v, u, t->in->ops[0].size));
}

/* blsr, blsmsk, blsi: x with x-1 or -x. */
static void lowest_bit(struct tk *t, unsigned mnem) {
    unsigned n = t->in->ops[0].size;
    const tkval zero = {0, 0}, one = {1, 0};
    tkval s = tk_rd(t, 1), o = mnem == IP_MN_BLSI ? tk_difference(zero, s) : tk_difference(s, one);
    u64 u, r, m = tk_mask(n);
    o.u &= m;
    if (mnem == IP_MN_BLSMSK) {
        u = s.u | o.u;
        r = s.v ^ o.v;
    } else {
        u = tk_and(s, o).u;
        r = s.v & o.v;
    }
    u64 ones = s.v & ~s.u & m, first = ones & -ones;
    if (first && mnem != IP_MN_BLSR) /* nothing above the first certain 1 matters */
        u &= first | (first - 1);
    if (first && mnem != IP_MN_BLSR && !(s.u & (first - 1))) u = 0;
    bool some = ones, zero_v = !(s.v & m), cu = s.u && !some;
    bool cv = mnem == IP_MN_BLSI ? !zero_v : zero_v;
    u8 f = tk_fl_make(r, u, n, cu, cv, false, false);
    if (s.u && (u || cu)) f |= TK_Z | TK_BE | TK_LE | TK_P;
    tk_wr(t, 0, u);
    tk_set_flags(t, f);
}

static void shift_by_register(struct tk *t, unsigned mnem) { /* shlx, shrx, sarx, rorx */
    unsigned n = t->in->ops[0].size, bits = 8 * n;
    u64 m = tk_mask(n);
    tkval a = tk_rd(t, 1), c = tk_rd(t, 2);
    unsigned k = (unsigned)(c.v & (bits - 1));
    u64 u;
    if (c.u & (bits - 1))
        u = stays(a, m, mnem == IP_MN_SARX) ? 0 : m;
    else if (mnem == IP_MN_SHLX)
        u = a.u << k;
    else if (mnem == IP_MN_SHRX)
        u = (a.u & m) >> k;
    else if (mnem == IP_MN_SARX)
        u = (u64)((i64)tk_sext(a.u, n) >> k);
    else
        u = k ? a.u >> k | a.u << (bits - k) : a.u;
    tk_wr(t, 0, u & m);
}

static u64 extract(u64 src, u64 mask) {
    u64 r = 0;
    for (unsigned k = 0; mask; mask &= mask - 1, k++) r |= (src & mask & -mask ? 1ull : 0) << k;
    return r;
}
static u64 deposit(u64 src, u64 mask) {
    u64 r = 0;
    for (unsigned k = 0; mask; mask &= mask - 1, k++)
        if (src >> k & 1) r |= mask & -mask;
    return r;
}

static void bit_field(struct tk *t, unsigned mnem) { /* pext, pdep, bzhi, bextr */
    unsigned n = t->in->ops[0].size, bits = 8 * n;
    u64 m = tk_mask(n), u, r = 0;
    tkval a = tk_rd(t, 1), c = tk_rd(t, 2);
    u64 relevant = mnem == IP_MN_BZHI ? 0xff : mnem == IP_MN_BEXTR ? 0xffff : m;
    if (mnem == IP_MN_PEXT || mnem == IP_MN_PDEP) {
        if (!c.u)
            u = mnem == IP_MN_PEXT ? extract(a.u, c.v) : deposit(a.u, c.v);
        else if (mnem == IP_MN_PDEP)
            u = c.v | c.u ? (c.u & -c.u ? ~((c.u & -c.u) - 1) & (c.v | c.u) : 0) | deposit(a.u, c.v & ~c.u) : 0;
        else
            u = low_bits((unsigned)__builtin_popcountll((c.v | c.u) & m));
        if (c.u && mnem == IP_MN_PDEP) u |= (c.v | c.u) & m; /* which source bit lands where is open */
        tk_wr(t, 0, u & m);
        return;
    }
    if (c.u & relevant) {
        tk_wr(t, 0, m);
        tk_set_flags(t, TK_ALL);
        return;
    }
    unsigned k = (unsigned)(c.v & 0xff);
    bool carry = false;
    if (mnem == IP_MN_BZHI) {
        carry = k >= bits;
        u = a.u & low_bits(k);
        r = a.v & low_bits(k);
    } else {
        unsigned len = (unsigned)(c.v >> 8 & 0xff);
        u = k < bits ? (a.u & m) >> k & low_bits(len) : 0;
        r = k < bits ? (a.v & m) >> k & low_bits(len) : 0;
    }
    u8 f = tk_fl_make(r, u, n, false, carry, false, false);
    if (mnem == IP_MN_BEXTR && u) f |= TK_S | TK_P | TK_L | TK_LE;
    tk_wr(t, 0, u & m);
    tk_set_flags(t, f);
}

static void crc32(struct tk *t) {
    bool any = (tk_rd(t, 0).u & 0xffffffff) | tk_rd(t, 1).u;
    tk_wr(t, 0, any ? 0xffffffff : 0);
}

bool tk_bits(struct tk *t) {
    switch (t->in->mnem) {
    case IP_MN_SHL:
    case IP_MN_SAL: shift(t, TK_SHL); return true;
    case IP_MN_SHR: shift(t, TK_SHR); return true;
    case IP_MN_SAR: shift(t, TK_SAR); return true;
    case IP_MN_ROL: rotate(t, ROL); return true;
    case IP_MN_ROR: rotate(t, ROR); return true;
    case IP_MN_RCL: rotate(t, RCL); return true;
    case IP_MN_RCR: rotate(t, RCR); return true;
    case IP_MN_SHLD: double_shift(t, true); return true;
    case IP_MN_SHRD: double_shift(t, false); return true;
    case IP_MN_BT: bit_test(t, false); return true;
    case IP_MN_BTS:
    case IP_MN_BTR:
    case IP_MN_BTC: bit_test(t, true); return true;
    case IP_MN_BSF: scan(t, false, false); return true;
    case IP_MN_BSR: scan(t, true, false); return true;
    case IP_MN_TZCNT: scan(t, false, true); return true;
    case IP_MN_LZCNT: scan(t, true, true); return true;
    case IP_MN_POPCNT: popcount(t); return true;
    case IP_MN_ANDN: andn(t); return true;
    case IP_MN_BLSR:
    case IP_MN_BLSI:
    case IP_MN_BLSMSK: lowest_bit(t, t->in->mnem); return true;
    case IP_MN_SHLX:
    case IP_MN_SHRX:
    case IP_MN_SARX:
    case IP_MN_RORX: shift_by_register(t, t->in->mnem); return true;
    case IP_MN_PEXT:
    case IP_MN_PDEP:
    case IP_MN_BZHI:
    case IP_MN_BEXTR: bit_field(t, t->in->mnem); return true;
    case IP_MN_CRC32: crc32(t); return true;
    default: return false;
    }
}
