/* The guest's signal frames, bit for bit the kernel's: building one (with the
 * extended state as xsave and the kernel's software bytes describe it) and
 * returning through one, edits made by the handler included.
 *
 * Layout and order of events: struct rt_sigframe, struct _fpx_sw_bytes in
 * asm/sigcontext.h; Intel SDM vol. 1 chapter 13 for the xsave area.
 */
#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/signals/signals.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/hooks.h"
#include "runtime/base/cpu.h"
#include "runtime/signals/sig.h"
#include "runtime/ptrace/ptrace.h"

#define UC_FP_XSTATE         1
#define UC_SIGCONTEXT_SS     2
#define UC_STRICT_RESTORE_SS 4
#define FP_MAGIC1            0x46505853u
#define FP_MAGIC2            0x46505845u
#define ARCH_GET_XCOMP_PERM  0x1022
#define XF_LEGACY            3ull         /* x87 and SSE */
#define XF_TILE              (3ull << 17) /* AMX */
#define XF_TILE_DATA         (1ull << 18) /* only for processes that asked, and threads that have used it */
#define XS_MAX               16384
#define XS_SW                464 /* struct _fpx_sw_bytes in the legacy area */
#define XS_MXCSR             24
#define XS_MXCSR_MASK        28
#define XS_HEADER            512
#define XS_MIN               576
#define REDZONE              128
/* Flags a handler may change through its context (the kernel's FIX_EFLAGS). */
#define FIX_FLAGS (IP_FL_ARITH | FL_TF | FL_DF | FL_AC)

struct sw_bytes {
    u32 magic1, extended_size;
    u64 xfeatures;
    u32 xstate_size, padding[7];
};
_Static_assert(sizeof(struct sw_bytes) == 48, "struct _fpx_sw_bytes");

struct xstate {
    u64 features; /* 0: no XSAVE, frames hold an fxsave image alone */
    u32 size;
};
static struct xstate permitted;     /* what this process may use */
static struct xstate without_tiles; /* what a thread's frames have before it uses tiles */
static u32 mxcsr_mask;

static struct xstate xstate_of_features(u64 features) {
    const struct rt_cpu *cpu = rt_cpu();
    u32 size = features ? XS_MIN : XS_HEADER;
    for (u32 i = 2; i < RT_CPU_STATES; i++)
        if ((features >> i & 1) && cpu->state[i].offset + cpu->state[i].size > size)
            size = cpu->state[i].offset + cpu->state[i].size;
    return (struct xstate){.features = features, .size = size};
}

void sig_xstate_init(void) {
    u64 allowed = ~XF_TILE, granted;
    if (sys2(__NR_arch_prctl, ARCH_GET_XCOMP_PERM, (long)&granted) == 0) allowed = granted;
    struct xstate all = xstate_of_features(rt_cpu()->xcr0 & (allowed | XF_LEGACY));
    if (all.size + 4 > XS_MAX)
        rt_die("the CPU's extended state takes %u bytes, more than the runtime is built for", all.size);
    u8 area[XS_MIN] __attribute__((aligned(64))) = {0};
    sig_xsave(area, all.features & XF_LEGACY);
    memcpy(&mxcsr_mask, area + XS_MXCSR_MASK, 4);
    if (mxcsr_mask == 0) mxcsr_mask = 0xffbf; /* SDM vol. 1, 11.6.6 */
    without_tiles = xstate_of_features(all.features & ~XF_TILE_DATA);
    permitted = all;
}

u64 sig_xfeatures(void) { return permitted.features; }
bool sig_xstate_grows(void) { return permitted.features != without_tiles.features; }
u32 sig_xstate_size(void) { return without_tiles.size; }

void sig_xstate_seen(struct tstate *ts, const struct sig_context *mc) {
    struct sw_bytes sw;
    memcpy(&sw, (const u8 *)mc->fpstate + XS_SW, sizeof sw);
    sig_priv(ts)->tiles = sw.magic1 == FP_MAGIC1 && (sw.xfeatures & XF_TILE_DATA);
}

static __attribute__((noinline)) bool tiles_in_use(void) {
    u32 low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low & XF_TILE_DATA;
}

/* The kernel makes room for the tiles at a thread's first use of them, and never takes that back.  No instruction
 * tells whether they have been used and released; but each frame of the kernel's does. */
static const struct xstate *xstate_of(struct tstate *ts) {
    struct sig_priv *p = sig_priv(ts);
    if (!sig_xstate_grows()) return &permitted;
    if (tiles_in_use()) p->tiles = true;
    if (!p->tiles) rt_int1();
    return p->tiles ? &permitted : &without_tiles;
}

static u32 frame_size(const struct xstate *x) { return x->size + (x->features ? sizeof(u32) /* FP_MAGIC2 */ : 0); }
static u64 frame_flags(void) {
    return UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS | (permitted.features ? UC_FP_XSTATE : 0);
}

static void xstate_reset(void) {
    u8 area[XS_MIN] __attribute__((aligned(64))) = {0};
    u16 control = 0x37f; /* xrstor goes by the header, fxrstor takes this */
    u32 mxcsr = 0x1f80;
    memcpy(area, &control, 2);
    memcpy(area + XS_MXCSR, &mxcsr, 4);
    sig_xrstor(area, permitted.features);
}

/* ---- the call stack ------------------------------------------------------------------ */

/* Two entries, so that a trace from the handler goes on in the interrupted
 * function: its pc, found in the frame itself, and the return to the restorer. */
/* left_sp: RSP on the stack that is left for an alternate one, else 0. */
static void callstack_enter(struct tstate *ts, u64 left_sp, u64 frame, u64 pc, u64 restorer) {
    struct ip_csent *top = (struct ip_csent *)ts->cs_top;
    if (!(rt.flags & IP_C_CALLSTACK) || ts->cs_top + 4 * sizeof *top > ts->cs_limit) return;
    if (left_sp) *++top = (struct ip_csent){.above = left_sp};
    top[1].retaddr = pc;
    top[1].above = frame + offsetof(struct sig_frame, uc.mc.ip) + sizeof(u64);
    top[2].retaddr = restorer;
    top[2].above = frame + sizeof(u64);
    ts->cs_top = (u64)&top[2];
}

static void callstack_leave(struct tstate *ts, u64 frame) {
    if (!(rt.flags & IP_C_CALLSTACK)) return;
    u64 end = frame + sizeof(struct sig_frame);
    struct ip_csent *top = (struct ip_csent *)ts->cs_top;
    while ((u64)top > ts->cs_base && rt_return_slot(top) >= frame && rt_return_slot(top) < end) top--;
    if ((u64)top > ts->cs_base && !top->retaddr && top->above) top--;
    ts->cs_top = (u64)top;
}

/* ---- building ---------------------------------------------------------------------------- */

static void fill_context(struct tstate *ts, struct sig_context *mc, u64 fpstate, u64 mask) {
    const struct sig_priv *p = sig_priv(ts);
    const u64 *g = ts->gpr;
    *mc = (struct sig_context){
        .r8 = g[IP_R8],
        .r9 = g[IP_R9],
        .r10 = g[IP_R10],
        .r11 = g[IP_R11],
        .r12 = g[IP_R12],
        .r13 = g[IP_R13],
        .r14 = g[IP_R14],
        .r15 = g[IP_R15],
        .di = g[IP_RDI],
        .si = g[IP_RSI],
        .bp = g[IP_RBP],
        .bx = g[IP_RBX],
        .dx = g[IP_RDX],
        .ax = g[IP_RAX],
        .cx = g[IP_RCX],
        .sp = g[IP_RSP],
        .ip = rt_pc(ts->pc),
        .flags = ts->rflags | (rt_th(ts)->trap_flag ? FL_TF : 0),
        .err = p->err,
        .trapno = p->trapno,
        .cr2 = p->cr2,
        .oldmask = mask,
        .fpstate = fpstate,
    };
    mc->cs = rt_cs();
    mc->ss = rt_ss(ts);
}

static long put_xstate(const struct xstate *x, u64 at) {
    u8 area[XS_MAX] __attribute__((aligned(64)));
    struct sw_bytes sw = {
        .magic1 = FP_MAGIC1, .extended_size = x->size + 4, .xfeatures = x->features, .xstate_size = x->size};
    u32 magic2 = FP_MAGIC2;
    memset(area, 0, x->size);
    sig_xsave(area, x->features);
    rt_x87_image(area);
    if (!x->features) return rt_copy_to(at, area, XS_SW); /* as fxsave: what is behind is the program's */
    memcpy(area + XS_SW, &sw, sizeof sw);
    memcpy(area + x->size, &magic2, 4);
    area[XS_HEADER] |= XF_LEGACY; /* as the kernel: both parts of the legacy area count */
    return rt_copy_to(at, area, frame_size(x));
}

const struct sig_frame *sig_native_frame(struct tstate *ts, u64 mask) {
    struct sig_frame *f = rt_pages(RT_ROUND_UP(XS_MAX + sizeof *f + 128, RT_PAGE));
    u64 fpstate = RT_ROUND_UP((u64)(f + 1), 64);
    /* Signals are blocked: a trap would be the end. */
    put_xstate(sig_xstate_grows() && !tiles_in_use() ? &without_tiles : &permitted, fpstate);
    f->uc.flags = frame_flags();
    f->uc.stack.flags = SS_FL_DISABLE;
    f->uc.sigmask = mask;
    fill_context(ts, &f->uc.mc, fpstate, mask);
    return f;
}

static bool no_room(struct tstate *ts, u64 frame) {
    sig_priv(ts)->no_room = frame;
    if (rt.chan->verbosity)
        rt_note(ts, "Can't extend stack to 0x%lx during signal delivery for thread %lu:\n  no stack segment", frame,
                ts->tid_guest);
    return false;
}

bool sig_setup_frame(struct tstate *ts, const struct sig_action *act, const struct sig_info *info) {
    struct rt_thread *th = rt_th(ts);
    struct sig_priv *p = sig_priv(ts);
    u64 old_sp = ts->gpr[IP_RSP], sp = old_sp - REDZONE, pc = rt_pc(ts->pc);
    u64 noredir_pc = pc != ts->pc && (ts->pc & IP_KEY_NOREDIR) ? pc : 0;
    bool entering = false;
    struct sig_frame f = {.pretcode = act->restorer, .info = *info};

    if (!(act->flags & SA_FL_RESTORER)) return false;
    if ((act->flags & SA_FL_ONSTACK) && th->altstack_size && !sig_on_altstack(th, sp)) {
        sp = th->altstack_sp + th->altstack_size;
        entering = true;
    }
    const struct xstate *x = xstate_of(ts);
    u64 fpstate = RT_ROUND_DOWN(sp - frame_size(x), 64);
    u64 frame = RT_ROUND_DOWN(fpstate - sizeof f, 16) - 8;
    if ((entering || sig_on_altstack(th, old_sp)) && !sig_on_altstack(th, frame) &&
        !(th->altstack_flags & SS_FL_AUTODISARM))
        return false; /* the alternate stack has overflowed */

    f.uc.flags = frame_flags();
    f.uc.stack = (struct sig_stack){.sp = th->altstack_sp, .flags = th->altstack_flags, .size = th->altstack_size};
    f.uc.sigmask = p->restore_mask ? p->saved_mask : th->sigmask;
    fill_context(ts, &f.uc.mc, fpstate, f.uc.sigmask);
    u64 len = act->flags & SA_FL_SIGINFO ? sizeof f : offsetof(struct sig_frame, info);
    if (put_xstate(x, fpstate) != 0 && !(rt_grow_stack(ts, fpstate) && put_xstate(x, fpstate) == 0))
        return no_room(ts, frame);
    if (rt_copy_to(frame, &f, len) != 0 && !(rt_grow_stack(ts, frame) && rt_copy_to(frame, &f, len) == 0))
        return no_room(ts, frame);

    sig_show_frame(ts, info->signo);
    ts->gpr[IP_RSP] = frame;
    rt_hook_signal(ts, info->signo, pc, old_sp);
    if (rt.flags & IP_C_SHADOW) {
        rt_hook_handler_enter(ts, frame, &f.uc.mc);
        rt_hook_stack_loaded(ts, old_sp, frame);
        rt_hook_written(frame, len);
        rt_hook_written(fpstate, frame_size(x));
    }
    ts->gpr[IP_RAX] = 0;
    ts->gpr[IP_RDI] = (u64)info->signo;
    ts->gpr[IP_RSI] = frame + offsetof(struct sig_frame, info);
    ts->gpr[IP_RDX] = frame + offsetof(struct sig_frame, uc);
    ts->rflags &= ~(FL_DF | FL_TF | FL_RF);
    rt_th(ts)->trap_flag = p->step_armed = 0;
    rt_th(ts)->ss = 0;
    ts->pc = rt_key(act->handler);
    xstate_reset();
    callstack_enter(ts, entering ? old_sp : 0, frame, pc, act->restorer);

    p->nr[p->nr_next % 16].frame = frame;
    p->nr[p->nr_next % 16].noredir_pc = noredir_pc;
    p->nr[p->nr_next % 16].unwrapped = th->unwrapped;
    th->unwrapped = 0; /* the handler is called by no request */
    p->nr[p->nr_next++ % 16].nraddr = ts->nraddr;
    p->restore_mask = 0;
    th->sigmask |= act->mask;
    if (!(act->flags & SA_FL_NODEFER)) th->sigmask |= SIG_BIT(info->signo);
    if (th->altstack_flags & SS_FL_AUTODISARM) {
        th->altstack_sp = th->altstack_size = 0;
        th->altstack_flags = SS_FL_DISABLE;
    }
    return true;
}

/* ---- returning ----------------------------------------------------------------------------- */

/* What the kernel makes of a frame's state: the extended area if its magic
 * numbers agree, else the legacy part alone; what xrstor would refuse is bad. */
static bool get_xstate(struct tstate *ts, u64 at) {
    u8 area[XS_MAX] __attribute__((aligned(64)));
    struct sw_bytes sw;
    u32 magic2 = 0, mxcsr;
    u64 bv = XF_LEGACY;

    if (at == 0) {
        xstate_reset();
        return true;
    }
    memset(area, 0, XS_MIN);
    if (rt_copy_from(area, at, XS_HEADER) != 0) return false;
    memcpy(&sw, area + XS_SW, sizeof sw);
    const struct xstate *x = xstate_of(ts);
    bool extended = x->features && sw.magic1 == FP_MAGIC1 && sw.xstate_size >= XS_MIN && sw.xstate_size <= x->size &&
                    sw.xstate_size <= sw.extended_size && rt_copy_from(&magic2, at + sw.xstate_size, 4) == 0 &&
                    magic2 == FP_MAGIC2;
    if (extended) {
        static const u8 zero[48];
        memset(area + XS_HEADER, 0, x->size - XS_HEADER);
        if (rt_copy_from(area + XS_HEADER, at + XS_HEADER, sw.xstate_size - XS_HEADER) != 0) return false;
        memcpy(&bv, area + XS_HEADER, 8);
        if ((bv & ~rt_cpu()->xcr0) || memcmp(area + XS_HEADER + 16, zero, sizeof zero) != 0 ||
            memcmp(area + XS_HEADER + 8, zero, 8) != 0)
            return false;
        bv &= sw.xfeatures & x->features;
    }
    memcpy(&mxcsr, area + XS_MXCSR, 4);
    if (mxcsr & ~mxcsr_mask) return false;
    memcpy(area + XS_HEADER, &bv, 8);
    sig_xrstor(area, permitted.features);
    return true;
}

/* Does the frame lie right below what the signal has interrupted, as sig_setup_frame puts it? */
static bool lies_below(const struct sig_context *mc) {
    u64 top = mc->sp - REDZONE;
    return mc->fpstate == RT_ROUND_DOWN(top - frame_size(&permitted), 64) ||
           mc->fpstate == RT_ROUND_DOWN(top - frame_size(&without_tiles), 64);
}

static void set_altstack(struct rt_thread *th, const struct sig_stack *ss) {
    u32 mode = ss->flags & ~SS_FL_AUTODISARM;
    if (sig_on_altstack(th, th->ts->gpr[IP_RSP]) || mode > SS_FL_DISABLE) return;
    if (mode != SS_FL_DISABLE && ss->size < 2048) return;
    th->altstack_sp = mode == SS_FL_DISABLE ? 0 : ss->sp;
    th->altstack_size = mode == SS_FL_DISABLE ? 0 : ss->size;
    th->altstack_flags = ss->flags;
}

long rt_sys_rt_sigreturn(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    u64 frame = ts->gpr[IP_RSP] - 8, old_sp = ts->gpr[IP_RSP];
    struct sig_ucontext uc;
    if (rt_copy_from(&uc, frame + offsetof(struct sig_frame, uc), sizeof uc) != 0) {
        ts->pc = th->syscall_restart_pc + 2; /* behind the syscall instruction, like the kernel */
        rt_signal_raise(ts, SIG_SEGV, SIC_KERNEL, 0);
        return RT_NO_RESULT;
    }
    const struct sig_context *mc = &uc.mc;
    bool whole = get_xstate(ts, mc->fpstate);
    if (!whole) xstate_reset();
    u64 *g = ts->gpr;
    g[IP_R8] = mc->r8, g[IP_R9] = mc->r9, g[IP_R10] = mc->r10, g[IP_R11] = mc->r11;
    g[IP_R12] = mc->r12, g[IP_R13] = mc->r13, g[IP_R14] = mc->r14, g[IP_R15] = mc->r15;
    g[IP_RDI] = mc->di, g[IP_RSI] = mc->si, g[IP_RBP] = mc->bp, g[IP_RBX] = mc->bx;
    g[IP_RDX] = mc->dx, g[IP_RAX] = mc->ax, g[IP_RCX] = mc->cx, g[IP_RSP] = mc->sp;
    ts->rflags = (ts->rflags & ~FIX_FLAGS) | (mc->flags & FIX_FLAGS & ~FL_TF);
    rt_th(ts)->trap_flag = (mc->flags & FL_TF) != 0;
    sig_priv(ts)->step_armed = 0;
    bool strict = (uc.flags & UC_STRICT_RESTORE_SS) != 0;
    if (strict && rt_load_ss(mc->ss | 3u) == 0) rt_th(ts)->ss = mc->ss | 3u;
    rt_trace(ts)->orig_rax = ~0ull; /* this call has no result */
    ts->pc = rt_key(mc->ip);
    if (rt.flags & IP_C_SHADOW) {
        rt_hook_handler_leave(ts, frame, mc);
        rt_hook_stack_returned(ts, old_sp, mc->sp, lies_below(mc));
    }
    callstack_leave(ts, frame);
    rt_hook_sigreturn(ts);
    sig_show_return(ts);
    struct sig_priv *p = sig_priv(ts);
    for (u32 i = 1; i <= 16; i++) { /* the newest of this frame: longjmp leaves others */
        u32 at = (p->nr_next - i) % 16;
        if (p->nr[at].frame == frame) {
            ts->nraddr = p->nr[at].nraddr;
            th->unwrapped = (u32)p->nr[at].unwrapped;
            if (p->nr[at].noredir_pc == ts->pc) ts->pc |= IP_KEY_NOREDIR;
            p->nr[at].frame = 0;
            break;
        }
    }
    th->sigmask = uc.sigmask & ~SIG_UNBLOCKABLE;
    if (whole) set_altstack(th, &uc.stack);
    sig_apply_mask(th);
    if (th->debug_aside[0]) rt_debug_returned(ts);
    /* The kernel comes to the extended state last: its signal finds the other registers as the frame has them. */
    if (!whole)
        rt_signal_raise(ts, SIG_SEGV, SIC_KERNEL, 0);
    else
        rt_segments_returned(ts, mc->cs | 3u, strict ? mc->ss | 3u : rt_ss(ts));
    return RT_NO_RESULT;
}
