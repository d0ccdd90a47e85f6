/* Tracking: fxsave, xsave and their kin.
 *
 * V bits travel with the registers through the image, because lazy binding
 * saves and restores the argument registers of a call around the resolver.
 * Layouts: Intel SDM volume 1, chapters 10.5 (FXSAVE) and 13.4, 13.5 (XSAVE,
 * standard and compacted; CPUID leaf 13 has offsets and sizes).
 */
#include "runtime/base/cpu.h"
#include "shadow/track_x87.h"

#define FX_FSW       2  /* the x87 status word */
#define FX_ST        32 /* eight 16-byte slots; MMX in their low halves */
#define FX_XMM       160
#define FX_LEN       512
#define XS_XSTATE_BV 512
#define XS_XCOMP_BV  520
#define XS_EXTENDED  576
#define XS_COMPACTED (1ull << 63)

enum { XC_X87, XC_SSE, XC_AVX, XC_OPMASK = 5, XC_ZMM_HI256, XC_HI16_ZMM, XC_END = 19 };

static void x87(struct tk *t, u64 at, bool save) {
    u64 word = at - FX_ST + FX_FSW, value = 0, u = 0;
    if (save) {
        if (t->ts->vfsw) tk_store8(t, word, 2, t->ts->vfsw);
        tk_x87_stored(t, at, 16);
        return;
    }
    tk_value(word, 2, &value);
    sh_access(t->ts, word, 2, (u8 *)&u);
    tk_set_fsw(t, (u16)u & TK_X87_CONDITIONS);
    tk_x87_loaded(t, at, 16, value >> 11 & 7);
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
                if (u) tk_store8(t, at, 8, u);
                continue;
            }
            sh_access(t->ts, at, 8, (u8 *)&u);
            tk_set_k(t, i, u);
        }
        return;
    }
    if (c > XC_HI16_ZMM || !parts[c].count) return;
    for (unsigned i = 0; i < parts[c].count; i++, at += parts[c].bytes) {
        u8 v[64];
        unsigned r = parts[c].reg + i, from = parts[c].from, n = parts[c].bytes;
        rt_memcpy(v, t->ts->vvec + 64 * r, 64);
        if (save) {
            if (!tk_zero(v + from, n)) tk_store(t, at, n, v + from);
        } else {
            sh_access(t->ts, at, n, v + from);
            tk_set_vec(t, r, v, 64, false);
        }
    }
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
        rt_memcpy(v, t->ts->vvec + 64 * (parts[c].reg + i), 64);
        rt_memset(v + parts[c].from, 0, parts[c].to - parts[c].from);
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

/* n bytes at `at`: reported if not addressable (false), else defined if written. */
static bool image(struct tk *t, u64 at, u64 n, bool write) {
    u64 first;
    bool bad = rt_shadow_unaddr(t->ts, at, n, &first);
    if (bad)
        sh_report_access(t->ts, write ? IP_E_WRITE : IP_E_READ, first, (u32)(at + n - first));
    else if (write)
        sh_fill(sh_v(at), 0, n);
    return !bad;
}

static u64 requested(const struct tk *t) {
    return ((t->ts->gpr[IP_RDX] << 32) | (u32)t->ts->gpr[IP_RAX]) & rt_cpu()->xcr0;
}

static void save(struct tk *t, bool compacted) {
    u64 base = tk_ea(t), bv = requested(t), at[XC_END];
    u64 n = layout(bv, compacted, at);
    if (!image(t, base, n, true)) return;
    for (unsigned c = 0; c < XC_END; c++)
        if (bv >> c & 1) component(t, c, base + at[c], true);
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

bool tk_state_image(struct tk *t) {
    switch (t->in->mnem) {
    case IP_MN_FXSAVE:
    case IP_MN_FXSAVE64:
        if (image(t, tk_ea(t), FX_LEN, true)) {
            component(t, XC_X87, tk_ea(t) + FX_ST, true);
            component(t, XC_SSE, tk_ea(t) + FX_XMM, true);
        }
        return true;
    case IP_MN_FXRSTOR:
    case IP_MN_FXRSTOR64:
        if (image(t, tk_ea(t), FX_LEN, false)) {
            component(t, XC_X87, tk_ea(t) + FX_ST, false);
            component(t, XC_SSE, tk_ea(t) + FX_XMM, false);
        }
        return true;
    case IP_MN_XSAVE:
    case IP_MN_XSAVE64:
    case IP_MN_XSAVEOPT:
    case IP_MN_XSAVEOPT64: save(t, false); return true;
    case IP_MN_XSAVEC:
    case IP_MN_XSAVEC64: save(t, true); return true;
    case IP_MN_XRSTOR:
    case IP_MN_XRSTOR64: restore(t); return true;
    default: return false;
    }
}
