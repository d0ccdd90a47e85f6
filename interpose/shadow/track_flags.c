/* V bits of the condition pairs. */
#include "shadow/track.h"

/* "x or y" with V bits: defined when one side is defined and true. */
static bool or_u(bool ux, bool x, bool uy, bool y) {
    if ((!ux && x) || (!uy && y)) return false;
    return ux || uy;
}

u8 tk_fl_make(u64 rv, u64 ru, unsigned n, bool ub, bool b, bool uo, bool o) {
    u64 m = tk_mask(n), top = 8 * n - 1;
    rv &= m;
    ru &= m;
    bool us = ru >> top & 1, s = rv >> top & 1, z = !rv;
    bool uz = ru && !(rv & ~ru); /* a defined 1 settles it */
    bool ul = us || uo, l = s != o;
    return (u8)((uo ? TK_O : 0) | (ub ? TK_B : 0) | (uz ? TK_Z : 0) | (us ? TK_S : 0) | (ru & 0xff ? TK_P : 0) |
                (or_u(ub, b, uz, z) ? TK_BE : 0) | (ul ? TK_L : 0) | (or_u(uz, z, ul, l) ? TK_LE : 0));
}

u8 tk_fl_logic(u64 rv, u64 ru, unsigned n) { return tk_fl_make(rv, ru, n, false, false, false, false); }

static __int128 signed_min(tkval x, unsigned n) {
    u64 top = 1ull << (8 * n - 1);
    return (i64)tk_sext((x.v & ~x.u) | (x.u & top), n);
}
static __int128 signed_max(tkval x, unsigned n) {
    u64 top = 1ull << (8 * n - 1);
    return (i64)tk_sext((x.v | x.u) & ~(x.u & top), n);
}

/* Settled: the same answer at both ends of the interval. */
static u8 set(u8 f, u8 bit, bool undefined) { return undefined ? f | bit : f & (u8)~bit; }

static u8 arith(tkval a, tkval b, tkval c, unsigned n, u64 *ru, bool sub) {
    u64 m = tk_mask(n), top = 1ull << (8 * n - 1);
    a.v &= m, a.u &= m, b.v &= m, b.u &= m;
    unsigned __int128 alo = a.v & ~a.u, ahi = a.v | a.u, blo = b.v & ~b.u, bhi = b.v | b.u;
    u64 clo = c.v & ~c.u & 1, chi = (c.v | c.u) & 1;
    unsigned __int128 lo = sub ? alo - bhi - chi : alo + blo + clo;
    unsigned __int128 hi = sub ? ahi - blo - clo : ahi + bhi + chi;
    u64 r = (sub ? a.v - b.v - (c.v & 1) : a.v + b.v + (c.v & 1)) & m;
    u64 u = (((u64)lo ^ (u64)hi) | a.u | b.u) & m;
    bool any = a.u || b.u || (c.u & 1);
    *ru = u;
    if (!any) return 0;
    bool carry_lo = lo >> (8 * n) & 1, carry_hi = hi >> (8 * n) & 1;
    __int128 slo, shi, least = (i64)tk_sext(top, n), most = (i64)(top - 1);
    if (sub) {
        slo = signed_min(a, n) - signed_max(b, n) - (__int128)chi;
        shi = signed_max(a, n) - signed_min(b, n) - (__int128)clo;
    } else {
        slo = signed_min(a, n) + signed_min(b, n) + clo;
        shi = signed_max(a, n) + signed_max(b, n) + chi;
    }
    bool inside = slo >= least && shi <= most, outside = shi < least || slo > most;
    bool o = outside; /* as far as it is settled */
    u8 f = tk_fl_make(r, u, n, carry_lo != carry_hi, carry_lo, !inside && !outside, o);
    bool ul = slo < 0 && shi >= 0;
    f = set(f, TK_L, ul);
    bool uz = f & TK_Z, z = !r;
    if (sub && !chi) { /* a comparison: exact */
        uz = (a.u | b.u) && !((a.v ^ b.v) & ~(a.u | b.u));
        f = set(f, TK_Z, uz);
        f = set(f, TK_BE, !(ahi <= blo) && !(alo > bhi));
        f = set(f, TK_LE, slo <= 0 && shi > 0);
    } else {
        f = set(f, TK_LE, or_u(uz, z, ul, shi < 0));
    }
    return f;
}

u8 tk_fl_add(tkval a, tkval b, tkval c, unsigned n, u64 *ru) { return arith(a, b, c, n, ru, false); }
u8 tk_fl_sub(tkval a, tkval b, tkval c, unsigned n, u64 *ru) { return arith(a, b, c, n, ru, true); }

/* a + a is a shift: the bits of both sides are the same unknown. */
u8 tk_fl_double(tkval a, tkval c, unsigned n, u64 *ru) {
    u64 m = tk_mask(n);
    unsigned top = 8 * n - 1;
    u64 r = (a.v << 1 | (c.v & 1)) & m;
    bool us = a.u >> top & 1, s = a.v >> top & 1, us2 = a.u >> (top - 1) & 1, s2 = a.v >> (top - 1) & 1;
    *ru = (a.u << 1 | (c.u & 1)) & m;
    u8 f = tk_fl_make(r, *ru, n, us, s, us || us2, s != s2);
    f = set(f, TK_L, us);
    return set(f, TK_LE, or_u(f & TK_Z, !r, us, s));
}

u8 tk_fl_of_bits(u64 v, u64 u) {
    bool ub = u & IP_FL_CF, b = v & IP_FL_CF, uz = u & IP_FL_ZF, z = v & IP_FL_ZF;
    bool us = u & IP_FL_SF, s = v & IP_FL_SF, uo = u & IP_FL_OF, o = v & IP_FL_OF;
    bool ul = us || uo;
    return (u8)((uo ? TK_O : 0) | (ub ? TK_B : 0) | (uz ? TK_Z : 0) | (us ? TK_S : 0) | (u & IP_FL_PF ? TK_P : 0) |
                (or_u(ub, b, uz, z) ? TK_BE : 0) | (ul ? TK_L : 0) | (or_u(uz, z, ul, s != o) ? TK_LE : 0));
}

u64 tk_fl_word(u8 f) {
    return (f & TK_O ? IP_FL_OF : 0) | (f & TK_B ? IP_FL_CF : 0) | (f & TK_Z ? IP_FL_ZF : 0) |
           (f & TK_S ? IP_FL_SF : 0) | (f & TK_P ? IP_FL_PF : 0) | (f ? IP_FL_AF : 0);
}
