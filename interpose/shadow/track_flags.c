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

/* Settled: the same answer at both ends of the interval. */
static inline u8 set(u8 f, u8 bit, bool undefined) { return undefined ? f | bit : f & (u8)~bit; }

/* x +- y +- c in 64 bits; true if that is not what it is without an end. */
static inline bool unsigned_sum(u64 x, u64 y, u64 c, bool sub, u64 *r) {
    return sub ? __builtin_sub_overflow(x, y, r) | __builtin_sub_overflow(*r, c, r)
               : __builtin_add_overflow(x, y, r) | __builtin_add_overflow(*r, c, r);
}
static inline bool signed_sum(u64 x, u64 y, u64 c, bool sub, i64 *r) {
    return sub ? __builtin_sub_overflow((i64)x, (i64)y, r) ^ __builtin_sub_overflow(*r, (i64)c, r)
               : __builtin_add_overflow((i64)x, (i64)y, r) ^ __builtin_add_overflow(*r, (i64)c, r);
}

/* With each operand at the upper end of 64 bits, where one of any size overflows. */
static inline __attribute__((always_inline)) u8 arith(tkval a, tkval b, tkval c, unsigned n, u64 *ru, bool sub) {
    const u64 top = 1ull << 63;
    unsigned up = n >= 8 ? 0 : 64 - 8 * n;
    a.v <<= up, a.u <<= up, b.v <<= up, b.u <<= up;
    u64 cv = (c.v & 1) << up, cu = (c.u & 1) << up;
    u64 alo = a.v & ~a.u, ahi = a.v | a.u, blo = b.v & ~b.u, bhi = b.v | b.u, clo = cv & ~cu, chi = cv | cu;
    u64 lo, hi, r, any = a.u | b.u;
    *ru = 0;
    if (!(any | cu)) return 0;
    bool carry_lo = unsigned_sum(alo, sub ? bhi : blo, sub ? chi : clo, sub, &lo);
    bool carry_hi = unsigned_sum(ahi, sub ? blo : bhi, sub ? clo : chi, sub, &hi);
    unsigned_sum(a.v, b.v, cv, sub, &r);
    u64 u = (lo ^ hi) | any;
    /* The same with the sign's bit the other way round. */
    u64 amin = alo | (a.u & top), amax = ahi ^ (a.u & top), bmin = blo | (b.u & top), bmax = bhi ^ (b.u & top);
    i64 slo, shi;
    bool past_lo = signed_sum(amin, sub ? bmax : bmin, sub ? chi : clo, sub, &slo);
    bool past_hi = signed_sum(amax, sub ? bmin : bmax, sub ? clo : chi, sub, &shi);
    bool negative_lo = (slo < 0) != past_lo, negative_hi = (shi < 0) != past_hi;
    bool inside = !past_lo && !past_hi, outside = (past_hi && negative_hi) || (past_lo && !negative_lo);
    bool o = outside; /* as far as it is settled */
    r >>= up;
    *ru = u >> up;
    u8 f = tk_fl_make(r, *ru, n, carry_lo != carry_hi, carry_lo, !inside && !outside, o);
    bool ul = negative_lo && !negative_hi;
    f = set(f, TK_L, ul);
    if (sub && !chi) { /* a comparison: exact */
        bool zero_lo = !slo && !past_lo, zero_hi = !shi && !past_hi;
        f = set(f, TK_Z, any && !((a.v ^ b.v) & ~any));
        f = set(f, TK_BE, ahi > blo && alo <= bhi);
        return set(f, TK_LE, (negative_lo || zero_lo) && !negative_hi && !zero_hi);
    }
    return set(f, TK_LE, or_u(f & TK_Z, !r, ul, negative_hi));
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

u8 tk_fl_step(tkval a, bool sub, unsigned n, bool ub, bool b, u64 *ru) {
    const tkval one = {1, 0}, none = {0, 0};
    u8 f = arith(a, one, none, n, ru, sub);
    bool uz = f & TK_Z, z = !((sub ? a.v - 1 : a.v + 1) & tk_mask(n));
    f = set(f, TK_B, ub);
    return set(f, TK_BE, or_u(ub, b, uz, z));
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
