/* V bits and signal handlers.  A handler starts with defined arguments and vector
 * registers; the V bits of everything else are as they were.  After it they are
 * what they were before, but for what it edited in its frame: there the value
 * is another one, or the V bits of the frame's own bytes are not 0.
 */
#include "runtime/base/cpu.h"
#include "runtime/signals/sig.h"
#include "shadow/shadow.h"
#include "shadow/track.h"

#define XS_XMM     160
#define XS_HEADER  512
#define U_VECTORS  (~0ull << IP_U_MMX0 | 1ull << IP_U_K | 1ull << IP_U_FSW)
#define U_OF_STACK (1ull << IP_U_REDZONE | 1ull << IP_U_TAKES) /* RSP's, wherever the values are from */
#define VEC_BYTES  64u
enum { XF_SSE = 1, XF_YMM = 2, XF_K = 5, XF_ZMM_HIGH = 6, XF_ZMM16 = 7 };

static const u8 argument_regs[] = {IP_RAX, IP_RDI, IP_RSI, IP_RDX, IP_RSP};

static u64 frame_gpr(const struct sig_context *mc, u32 i) {
    switch (i) {
    case IP_RAX: return mc->ax;
    case IP_RCX: return mc->cx;
    case IP_RDX: return mc->dx;
    case IP_RBX: return mc->bx;
    case IP_RSP: return mc->sp;
    case IP_RBP: return mc->bp;
    case IP_RSI: return mc->si;
    case IP_RDI: return mc->di;
    case 16: return mc->flags;
    default: return (&mc->r8)[i - IP_R8];
    }
}

static u32 frame_gpr_offset(u32 i) {
    static const u8 place[8] = {
        [IP_RAX] = offsetof(struct sig_context, ax), [IP_RCX] = offsetof(struct sig_context, cx),
        [IP_RDX] = offsetof(struct sig_context, dx), [IP_RBX] = offsetof(struct sig_context, bx),
        [IP_RSP] = offsetof(struct sig_context, sp), [IP_RBP] = offsetof(struct sig_context, bp),
        [IP_RSI] = offsetof(struct sig_context, si), [IP_RDI] = offsetof(struct sig_context, di)};
    return i == 16 ? offsetof(struct sig_context, flags)
           : i < 8 ? place[i]
                   : (u32)offsetof(struct sig_context, r8) + 8 * (i - IP_R8);
}

/* V bits of guest memory; all set where there are none. */
static void memory_vbits(u64 at, void *v, u64 n) {
    if (rt_copy_from(v, at + IP_V_CONST, n) != 0) memset(v, 0xff, n);
}

static void set_umask(struct tstate *ts, u32 bit, bool undefined) {
    ts->umask = undefined ? ts->umask | 1ull << bit : ts->umask & ~(1ull << bit);
}

static void all_defined(struct tstate *ts) {
    ts->umask &= U_OF_STACK;
    ts->vflags = 0;
    ts->vfsw = 0;
    memset(ts->vgpr, 0, sizeof ts->vgpr);
    memset(ts->vk, 0, sizeof ts->vk);
    memset(ts->vmmx, 0, sizeof ts->vmmx);
    memset(ts->vvec, 0, sizeof ts->vvec);
}

void sh_handler_enter(struct tstate *ts, u64 frame, const struct sig_context *mc) {
    struct sig_priv *p = sig_priv(ts);
    if (p->vsave) /* a handler left by longjmp may have used the same place */
        for (u32 i = 0; i < SIG_VSAVES; i++)
            if (p->vsave[i].frame == frame) p->vsave[i].frame = 0;
    if (ts->umask == 0) return;
    if (!p->vsave) p->vsave = rt_pages(SIG_VSAVES * sizeof *p->vsave);
    struct sig_vsave *s = &p->vsave[p->vsave_next++ % SIG_VSAVES];
    s->frame = frame;
    s->umask = ts->umask & ~U_OF_STACK;
    s->vflags = ts->vflags;
    s->vfsw = ts->vfsw;
    memcpy(s->vgpr, ts->vgpr, sizeof s->vgpr);
    memcpy(s->vk, ts->vk, sizeof s->vk);
    memcpy(s->vmmx, ts->vmmx, sizeof s->vmmx);
    memcpy(s->vvec, ts->vvec, sizeof s->vvec);
    for (u32 i = 0; i < 17; i++) s->gpr[i] = frame_gpr(mc, i);
    u32 size = sig_xstate_size() < sizeof s->image ? sig_xstate_size() : sizeof s->image;
    if (rt_copy_from(s->image, mc->fpstate, size) != 0) memset(s->image, 0, sizeof s->image);
    for (u32 i = 0; i < sizeof argument_regs; i++) {
        ts->vgpr[argument_regs[i]] = 0;
        ts->umask &= ~(1ull << (IP_U_GPR0 + argument_regs[i]));
    }
    /* The kernel starts a handler with the initial vector and x87 state. */
    ts->vfsw = 0;
    memset(ts->vk, 0, sizeof ts->vk);
    memset(ts->vmmx, 0, sizeof ts->vmmx);
    memset(ts->vvec, 0, sizeof ts->vvec);
    ts->umask &= ~U_VECTORS;
}

/* Bytes [off, off + n) of the image belong to the V bytes at v: take what was edited.
 * Without what the image was, s is NULL: what is undefined in it is an edit. A part
 * that is not loaded is zero, whatever is in the image (xsavec leaves it alone). */
static void edited(const struct sig_vsave *s, u64 fpstate, bool loaded, u32 off, u32 n, u8 *v) {
    u8 now[VEC_BYTES], vbits[VEC_BYTES];
    if (!loaded) {
        memset(v, 0, n);
        return;
    }
    if (off + n > sizeof s->image || off + n > sig_xstate_size() || rt_copy_from(now, fpstate + off, n) != 0) return;
    memory_vbits(fpstate + off, vbits, n);
    for (u32 i = 0; i < n; i++)
        if (vbits[i] || (s && now[i] != s->image[off + i])) v[i] = vbits[i];
}

static void vectors_back(struct tstate *ts, const struct sig_vsave *s, u64 fpstate) {
    u8 vbits[sizeof s->image];
    u64 has = sig_xfeatures(), bv = 1u << XF_SSE, before = s ? s->umask : 0;
    u32 size = sig_xstate_size() < sizeof vbits ? sig_xstate_size() : sizeof vbits;
    memory_vbits(fpstate, vbits, size);
    bool all = !tk_zero(vbits, size); /* else those that were undefined, alone */
    if (!all && !before) return;
    if (has) rt_copy_from(&bv, fpstate + XS_HEADER, sizeof bv);
    u32 ymm = has >> XF_YMM & 1 ? rt_cpu()->state[XF_YMM].offset : 0,
        zmm = has >> XF_ZMM_HIGH & 1 ? rt_cpu()->state[XF_ZMM_HIGH].offset : 0;
    u32 zmm16 = has >> XF_ZMM16 & 1 ? rt_cpu()->state[XF_ZMM16].offset : 0,
        k = has >> XF_K & 1 ? rt_cpu()->state[XF_K].offset : 0;
    for (u32 i = 0; i < 32; i++) {
        u8 *v = (u8 *)ts->vvec + VEC_BYTES * i;
        if (!all && !(before >> (IP_U_VEC0 + i) & 1)) continue;
        if (i < 16) {
            edited(s, fpstate, bv >> XF_SSE & 1, XS_XMM + 16 * i, 16, v);
            if (ymm) edited(s, fpstate, bv >> XF_YMM & 1, ymm + 16 * i, 16, v + 16);
            if (zmm) edited(s, fpstate, bv >> XF_ZMM_HIGH & 1, zmm + 32 * i, 32, v + 32);
        } else if (zmm16) {
            edited(s, fpstate, bv >> XF_ZMM16 & 1, zmm16 + VEC_BYTES * (i - 16), VEC_BYTES, v);
        }
        set_umask(ts, IP_U_VEC0 + i, !tk_zero(v, VEC_BYTES));
    }
    if (k && (all || (before >> IP_U_K & 1))) {
        for (u32 i = 0; i < 8; i++) edited(s, fpstate, bv >> XF_K & 1, k + 8 * i, 8, (u8 *)&ts->vk[i]);
        set_umask(ts, IP_U_K, !tk_zero((const u8 *)ts->vk, sizeof ts->vk));
    }
}

void sh_handler_leave(struct tstate *ts, u64 frame, const struct sig_context *mc) {
    struct sig_priv *p = sig_priv(ts);
    struct sig_vsave *s = NULL;
    u64 at = frame + offsetof(struct sig_frame, uc.mc);
    for (u32 i = 0; p->vsave && i < SIG_VSAVES; i++)
        if (p->vsave[i].frame == frame) s = &p->vsave[i];
    if (s) {
        ts->umask = s->umask | (ts->umask & U_OF_STACK);
        ts->vflags = s->vflags;
        ts->vfsw = s->vfsw;
        memcpy(ts->vgpr, s->vgpr, sizeof s->vgpr);
        memcpy(ts->vk, s->vk, sizeof s->vk);
        memcpy(ts->vmmx, s->vmmx, sizeof s->vmmx);
        memcpy(ts->vvec, s->vvec, sizeof s->vvec);
        s->frame = 0;
    } else if (ts->umask) {
        all_defined(ts);
    }
    if (mc->fpstate) vectors_back(ts, s, mc->fpstate);
    for (u32 i = 0; i < 16; i++) {
        u64 v;
        memory_vbits(at + frame_gpr_offset(i), &v, sizeof v);
        if (v || (s && frame_gpr(mc, i) != s->gpr[i])) ts->vgpr[i] = v;
        set_umask(ts, IP_U_GPR0 + i, ts->vgpr[i]);
    }
    u64 uflags;
    memory_vbits(at + frame_gpr_offset(16), &uflags, sizeof uflags);
    if (s && ((mc->flags ^ s->gpr[16]) & IP_FL_ARITH)) ts->vflags = 0;
    ts->vflags |= tk_fl_of_bits(mc->flags, uflags & IP_FL_ARITH);
    set_umask(ts, IP_U_FLAGS, ts->vflags);
}
