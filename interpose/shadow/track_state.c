/* Tracking: fxsave, xsave and their kin.
 *
 * V bits travel with the registers through the image, because lazy binding
 * saves and restores the argument registers of a call around the resolver.
 * Layouts: Intel SDM volume 1, chapters 10.5 (FXSAVE) and 13.4, 13.5 (XSAVE,
 * standard and compacted; CPUID leaf 13 has offsets and sizes).  What is not
 * written (13.7, 13.9, 13.10: parts that nobody asked for, the initial state but
 * for XSAVE, and what is free) stays as undefined as it was.  Each register has
 * its origin in the image, too.
 */
#include "runtime/base/cpu.h"
#include "shadow/origin.h"
#include "shadow/track_x87.h"

#define FX_FSW        2  /* the x87 status word */
#define FX_MXCSR      24 /* and its mask */
#define FX_ST         32 /* eight 16-byte slots; MMX in their low halves */
#define FX_XMM        160
#define FX_XMM_END    416 /* from here to FX_LEN: free */
#define FX_LEN        512
#define XS_XSTATE_BV  512
#define XS_XCOMP_BV   520
#define XS_EXTENDED   576
#define XS_COMPACTED  (1ull << 63)
#define MXCSR_INITIAL 0x1f80

enum { XC_X87, XC_SSE, XC_AVX, XC_OPMASK = 5, XC_ZMM_HI256, XC_HI16_ZMM, XC_END = 19 };

static void x87(struct tk *t, u64 at, bool save) {
    u64 word = at - FX_ST + FX_FSW, value = 0, u = 0;
    if (save) {
        if (t->ts->vfsw) {
            if (origins_kept()) origin_only_x87(t, TK_X87_FSW);
            tk_store_elements(t, word, 2, (const u8 *)&t->ts->vfsw);
        }
        tk_x87_stored(t, at, 16);
        return;
    }
    tk_value(word, 2, &value);
    sh_access(t->ts, word, 2, (u8 *)&u);
    tk_set_fsw(t, (u16)u & TK_X87_CONDITIONS);
    if (t->ts->vfsw && origins_kept()) {
        origin_only_element(t, word, 2);
        origin_to_x87(t, TK_X87_FSW);
    }
    tk_x87_loaded(t, at, 16, value >> 11 & 7);
}

/* A vector register's part of n bytes at v + from goes into the image, or came from there.  A register has one tag: of
 * two undefined parts that of the lower one, which is restored first. */
static void vector(struct tk *t, unsigned r, u64 at, unsigned from, unsigned n, bool save) {
    u8 v[64];
    memcpy(v, t->ts->vvec + 64 * r, 64);
    if (save) {
        if (tk_zero(v + from, n)) return;
        if (origins_kept()) origin_only_vec(t, r);
        tk_store_elements(t, at, n, v + from);
        return;
    }
    sh_access(t->ts, at, n, v + from);
    tk_set_vec(t, r, v, 64, false);
    if (!origins_kept() || tk_zero(v + from, n) || !tk_zero(v, from)) return;
    origin_only_element(t, at, n);
    origin_to_vec(t, r);
}

/* Where the registers of a component lie: `count` parts of `bytes`, in the
 * image one after the other from `at`. */
static void component(struct tk *t, unsigned c, u64 at, bool save) {
    static const struct {
        u8 count, bytes, reg, from;
    } parts[] = {
        [XC_SSE] = {16, 16, 0, 0},
        [XC_AVX] = {16, 16, 0, 16},
        [XC_ZMM_HI256] = {16, 32, 0, 32},
        [XC_HI16_ZMM] = {16, 64, 16, 0},
    };
    if (c == XC_X87) {
        x87(t, at, save);
        return;
    }
    if (c == XC_OPMASK) {
        for (unsigned i = 0; i < 8; i++, at += 8) {
            u64 u = t->ts->vk[i];
            if (save) {
                if (u && origins_kept()) origin_only_k(t, i);
                if (u) tk_store_elements(t, at, 8, (const u8 *)&u);
                continue;
            }
            sh_access(t->ts, at, 8, (u8 *)&u);
            tk_set_k(t, i, u);
            if (!u || !origins_kept()) continue;
            origin_only_element(t, at, 8);
            origin_to_k(t, i);
        }
        return;
    }
    if (c > XC_HI16_ZMM || !parts[c].count) return;
    for (unsigned i = 0; i < parts[c].count; i++, at += parts[c].bytes)
        vector(t, parts[c].reg + i, at, parts[c].from, parts[c].bytes, save);
}

/* A component's registers in their initial state. */
static void initial(struct tk *t, unsigned c) {
    static const struct {
        u8 count, reg, from, to;
    } parts[] = {
        [XC_SSE] = {16, 0, 0, 16},
        [XC_AVX] = {16, 0, 16, 32},
        [XC_ZMM_HI256] = {16, 0, 32, 64},
        [XC_HI16_ZMM] = {16, 16, 0, 64},
    };
    if (c == XC_X87) tk_set_fsw(t, 0);
    for (unsigned i = 0; i < 8; i++) {
        if (c == XC_X87) tk_set_mmx(t, i, 0);
        if (c == XC_OPMASK) tk_set_k(t, i, 0);
    }
    if (c > XC_HI16_ZMM) return;
    for (unsigned i = 0; i < parts[c].count; i++) {
        u8 v[64];
        memcpy(v, t->ts->vvec + 64 * (parts[c].reg + i), 64);
        memset(v + parts[c].from, 0, parts[c].to - parts[c].from);
        tk_set_vec(t, parts[c].reg + i, v, 64, false);
    }
}

/* Offsets of the components of an area; returns its size. */
static u64 layout(u64 bv, bool compacted, u64 at[XC_END]) {
    u64 end = XS_EXTENDED;
    at[XC_X87] = FX_ST;
    at[XC_SSE] = FX_XMM;
    for (unsigned c = XC_AVX; c < XC_END; c++) {
        const struct rt_cpu_state *state = &rt_cpu()->state[c];
        at[c] = 0;
        if (!(bv >> c & 1)) continue;
        if (compacted) {
            if (state->aligned) end = RT_ROUND_UP(end, 64);
            at[c] = end;
            end += state->size;
        } else {
            at[c] = state->offset;
            if (state->offset + state->size > end) end = state->offset + state->size;
        }
    }
    return end;
}

/* Are n bytes at `at` addressable?  Else it is reported. */
static bool image(struct tk *t, u64 at, u64 n, bool write) {
    u64 first;
    bool bad = rt_shadow_unaddr(t->ts, at, n, &first);
    if (bad) sh_report_access(t->ts, write ? IP_E_WRITE : IP_E_READ, first, (u32)(at + n - first));
    return !bad;
}

static void defined(u64 from, u64 end) { sh_fill(sh_v(from), 0, end - from); }

/* The legacy region, as far as components bv are in it. */
static void legacy_saved(struct tk *t, u64 base, u64 bv, bool mxcsr) {
    if (mxcsr) defined(base + FX_MXCSR, base + FX_ST);
    if (bv >> XC_X87 & 1) {
        defined(base, base + FX_MXCSR);
        defined(base + FX_ST, base + FX_XMM);
        component(t, XC_X87, base + FX_ST, true);
    }
    if (bv >> XC_SSE & 1) {
        defined(base + FX_XMM, base + FX_XMM_END);
        component(t, XC_SSE, base + FX_XMM, true);
    }
}

static u64 requested(const struct tk *t) {
    return ((t->ts->gpr[IP_RDX] << 32) | (u32)t->ts->gpr[IP_RAX]) & rt_cpu()->xcr0;
}

enum { XSAVE, XSAVEOPT, XSAVEC };

/* Components that are not in their initial state.  What their values are does not tell: AMD's CPUs take a register for
 * initial after `pxor`, and for used after 0 was loaded into it.  xgetbv counts MXCSR as one of SSE's, of the
 * instructions xsavec alone does; so it is asked with the initial one. */
static __attribute__((noinline)) u64 in_use(bool with_mxcsr) {
    u32 low, high, mxcsr, initial = MXCSR_INITIAL;
    if (!rt_cpu()->tells_used) return ~0ull;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    __asm__ volatile("ldmxcsr %3; xgetbv; ldmxcsr %4" : "=a"(low), "=d"(high) : "c"(1), "m"(initial), "m"(mxcsr));
    u64 used = (u64)high << 32 | low;
    return used | (u64)(with_mxcsr && mxcsr != MXCSR_INITIAL) << XC_SSE;
}

static void save(struct tk *t, int how) {
    u64 base = tk_ea(t), bv = requested(t), at[XC_END];
    u64 n = layout(bv, how == XSAVEC, at);
    if (!image(t, base, n, true)) return;
    u64 made = how == XSAVE ? bv : bv & in_use(how == XSAVEC);
    u64 with_mxcsr = 1u << XC_SSE | (how == XSAVEC ? 0 : 1u << XC_AVX);
    legacy_saved(t, base, made, (how == XSAVEC ? made : bv) & with_mxcsr);
    if (how == XSAVEC)
        defined(base + XS_XSTATE_BV, base + XS_XCOMP_BV + 8);
    else {
        u64 *bits = (u64 *)sh_v(base + XS_XSTATE_BV);
        if (*bits & bv) *bits &= ~bv;
    }
    for (unsigned c = XC_AVX; c < XC_END; c++) {
        if (!(made >> c & 1)) continue;
        defined(base + at[c], base + at[c] + rt_cpu()->state[c].size);
        component(t, c, base + at[c], true);
    }
}

static void restore(struct tk *t) {
    u64 base = tk_ea(t), bv = requested(t), present = 0, format = 0, at[XC_END];
    tk_value(base + XS_XSTATE_BV, 8, &present);
    tk_value(base + XS_XCOMP_BV, 8, &format);
    bool compacted = format & XS_COMPACTED;
    layout(compacted ? format & ~XS_COMPACTED : bv, compacted, at);
    bool there = image(t, base, XS_EXTENDED, false);
    for (unsigned c = 0; c < XC_END; c++) {
        if (!(bv >> c & 1)) continue;
        if (there && (present >> c & 1))
            component(t, c, base + at[c], false);
        else
            initial(t, c);
    }
}

static bool state_image(struct tk *t) {
    switch (t->in->mnem) {
    case IP_MN_FXSAVE:
    case IP_MN_FXSAVE64:
        if (image(t, tk_ea(t), FX_LEN, true)) legacy_saved(t, tk_ea(t), 1u << XC_X87 | 1u << XC_SSE, true);
        return true;
    case IP_MN_FXRSTOR:
    case IP_MN_FXRSTOR64:
        if (image(t, tk_ea(t), FX_LEN, false)) {
            component(t, XC_X87, tk_ea(t) + FX_ST, false);
            component(t, XC_SSE, tk_ea(t) + FX_XMM, false);
        }
        return true;
    case IP_MN_XSAVE:
    case IP_MN_XSAVE64: save(t, XSAVE); return true;
    case IP_MN_XSAVEOPT:
    case IP_MN_XSAVEOPT64: save(t, XSAVEOPT); return true;
    case IP_MN_XSAVEC:
    case IP_MN_XSAVEC64: save(t, XSAVEC); return true;
    case IP_MN_XRSTOR:
    case IP_MN_XRSTOR64: restore(t); return true;
    default: return false;
    }
}

bool tk_state_image(struct tk *t) {
    bool is_one = state_image(t);
    if (is_one) t->origin = 0; /* each register has its own by now */
    return is_one;
}
