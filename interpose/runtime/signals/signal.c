/* Signals, host side: our handler, recording, stepping to a boundary, delivery.
 *
 * A signal that interrupts translated code is delivered at the next instruction
 * boundary, which single-stepping reaches within a few host instructions; one
 * that interrupts the runtime is recorded and delivered on the way back.  While
 * one is recorded, the kernel keeps everything else queued.
 *
 * By interrupted rip:
 *   code cache        recover the guest state from the block's ip_points
 *   rt_copy_*         guest memory is bad: resume at rt_copy_fault
 *   rt_kernel window  the system call has not begun: resume at rt_kernel_abort
 *   rt_enter_*        on the way in, past the last check: begin the entry anew
 *   rt_short_*        half switched, and soon in translated code: have it arrive at a trap
 *   section rt_border half switched: step until it is on one side
 *   else              C code of the runtime: a fault is our bug
 */
#include "abi/inline/pcs.h"
#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/processes/processes.h"
#include "runtime/signals/signals.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/hooks.h"
#include "runtime/signals/sig.h"
#include "runtime/ptrace/ptrace.h"

#define MAX_RETRIES 10000
#define PF_WRITE    2 /* page-fault error code: a store */

static bool in_range(u64 a, const char *lo, const char *hi) { return a >= (u64)lo && a < (u64)hi; }
static bool in_cache(u64 a) { return a - IP_CACHE_BASE < (u64)IP_CACHE_MAX; }
static bool is_sync(int sig) { return SIG_BIT(sig) & SIG_SYNC; }

/* ---- masks ------------------------------------------------------------------------ */

void sig_kernel_mask(u64 mask) { sys4(__NR_rt_sigprocmask, 2, (long)&mask, 0, 8); }
void sig_block_everything(void) { sig_kernel_mask(~0ull); }

void sig_unblock_everything(struct rt_thread *th) {
    sig_kernel_mask(th->pending_sig ? SIG_BLOCK_ALL : th->sigmask & ~SIG_SYNC);
}

void sig_apply_mask(struct rt_thread *th) {
    bool aside = sig_priv(th->ts)->vpend & ~th->sigmask; /* goes first */
    u64 kernel = aside ? SIG_BLOCK_ALL : th->sigmask & ~SIG_SYNC;
    u64 args[6] = {2, (u64)&kernel, 0, 8, 0, 0};
    rt_kernel(th, __NR_rt_sigprocmask, args); /* interrupted: the delivery will set it */
    if (aside) th->pending = 1;
}

/* ---- recording ---------------------------------------------------------------------- */

static bool deliverable(struct tstate *ts) {
    return rt_th(ts)->pending_sig || rt_trace(ts)->wants || (sig_priv(ts)->vpend & ~rt_th(ts)->sigmask);
}

/* false: nothing to deliver, because the guest blocks or ignores it.  Those of
 * SIG_SYNC are kept aside in any case: the kernel cannot hold them back while
 * another one waits, and the lowest goes first. */
static bool record(struct tstate *ts, int sig, const struct sig_info *info) {
    struct rt_thread *th = rt_th(ts);
    struct sig_priv *p = sig_priv(ts);
    if (is_sync(sig)) {
        bool blocked = th->sigmask & SIG_BIT(sig);
        if (!blocked && p->table->act[sig].handler == SIGH_IGN && !rt_trace(ts)->on) return false;
        if (!(p->vpend & SIG_BIT(sig))) /* one of a kind is queued, signal(7) */
            p->vinfo[sig_sync_index(sig)] = *info;
        p->vpend |= SIG_BIT(sig);
        if (blocked) return false;
    } else if (sig_are_told() && sig_is_ignored(ts, sig) && !rt_debug_minds(ts, sig)) {
        return false;
    } else {
        memcpy(th->pending_info, info, sizeof *info);
        th->pending_sig = (u32)sig;
    }
    __atomic_store_n(&th->pending, 1, __ATOMIC_RELEASE);
    return true;
}

/* ---- precise state -------------------------------------------------------------------- */

static void host_registers(const struct sig_context *mc, u64 to[16]) {
    const u64 host[16] = {mc->ax, mc->cx, mc->dx,  mc->bx,  mc->sp,  mc->bp,  mc->si,  mc->di,
                          mc->r8, mc->r9, mc->r10, mc->r11, mc->r12, mc->r13, mc->r14, mc->r15};
    memcpy(to, host, sizeof host);
}

static void gather(struct tstate *ts, const struct sig_context *mc, const struct ip_block *b,
                   const struct ip_point *pt) {
    /* A gs: operand of the guest may have been under way (emit.c, emit_gs_insn). */
    if (rt.flags & IP_C_SHADOW) sys2(__NR_arch_prctl, 0x1001 /* ARCH_SET_GS */, (long)(IP_V_CONST - IP_V_DISP));
    u64 host[16];
    host_registers(mc, host);
    for (int i = 0; i < 16; i++)
        if (!(pt->spilled >> i & 1)) ts->gpr[i] = host[i];
    u64 fl = mc->flags;
    ts->rflags = fl & ~(FL_RF | FL_TF);
    sig_trap_flag_count(ts, false);
    ts->pc = ip_pc_of(rt_pcs, b, pt->guest_off);
    if (pt->guest_off == 0) ts->pc |= b->key & IP_KEY_NOREDIR;
    rt_hook_left(ts, b, pt);
}

/* Continue in rt_signal_resume on the runtime stack; the guest state is in ts. */
static void redirect(struct tstate *ts, struct sig_context *mc) {
    rt_th(ts)->in_runtime = RT_IN_RUNTIME;
    sig_priv(ts)->stepping = 0;
    mc->ip = (u64)rt_signal_trampoline;
    mc->sp = ts->rt_sp & ~15ull;
    mc->di = (u64)ts;
    mc->flags &= ~(FL_TF | FL_DF | FL_AC);
}

static int int1_code; /* what a SIGTRAP by int1 looks like here */
static bool int1_early;

/* ---- stepping --------------------------------------------------------------------------- */

static void arm(struct tstate *ts, struct sig_context *mc) {
    struct sig_priv *p = sig_priv(ts);
    p->stepping = 1;
    p->step_pushf = 0;
    mc->flags |= FL_TF;
    if (in_cache(mc->ip)) {
        const u8 *code = (const u8 *)mc->ip;
        p->step_pushf = code[0] == 0x9c || (code[0] == 0x66 && code[1] == 0x9c);
        sig_repeat(mc);
    }
}

static void stop_or_step(struct tstate *ts, struct sig_context *mc) {
    const struct ip_block *b = rt_block_of(mc->ip);
    struct ip_point point, *pt = b && rt_point_of(b, mc->ip, &point) ? &point : NULL;
    bool here = pt && mc->ip == b->host + (u64)pt->host_off;
    bool trap = here && sig_traps_behind(sig_priv(ts), mc, b, pt);
    /* The shadow of the whole is done: what remained would be done again, and a
     * fast timer would let no more than one element pass each time. */
    if (pt && (rt.flags & IP_C_SHADOW) && !trap) sig_repeat(mc);
    /* Not before the first instruction of an entry without redirection: the
     * guest's pc alone, all that a signal frame holds, would find the binding. */
    if (here && (trap || ((pt->flags & IP_PF_BOUNDARY) && !(pt->flags & IP_PF_COMMITTED))) &&
        !(pt->guest_off == 0 && (b->key & IP_KEY_NOREDIR))) {
        gather(ts, mc, b, pt);
        /* Nothing of the block has happened, not even its redirection: the wrapper
         * has not been told what it wraps. */
        if (pt->guest_off == 0 && !(b->key & (IP_KEY_TRACK | IP_KEY_ONE)))
            ts->pc = b->key & (IP_KEY_PC | IP_KEY_NOREDIR);
        if (pt->flags & IP_PF_GUEST) sig_told_interrupted(ts);
        redirect(ts, mc);
    } else {
        arm(ts, mc);
    }
}

/* The guest's alignment check has hit an access of ours: once without it. */
static bool step_unaligned(struct tstate *ts, struct sig_context *mc) {
    struct sig_priv *p = sig_priv(ts);
    if (in_cache(mc->ip)) {
        const struct ip_block *b = rt_block_of(mc->ip);
        struct ip_point pt;
        if (b && rt_point_of(b, mc->ip, &pt) && (pt.flags & IP_PF_GUEST)) return false;
    }
    u32 stepping = p->stepping;
    arm(ts, mc);
    p->ac_off = 1 + stepping;
    mc->flags &= ~FL_AC;
    return true;
}

/* That instruction is over, or has met another fault. */
static void unaligned_done(struct tstate *ts, struct sig_context *mc) {
    struct sig_priv *p = sig_priv(ts);
    mc->flags |= FL_AC;
    if (p->ac_off == 1) {
        p->stepping = 0;
        mc->flags &= ~FL_TF;
    }
    p->ac_off = 0;
}

/* To step through such code takes a trap for each of a hundred instructions, which a fast timer may outrun. */
static void have_arrive(struct tstate *ts, struct sig_context *mc) {
    if (!rt_th(ts)->target_kept) rt_th(ts)->target_kept = ts->target;
    ts->target = (u64)rt_arrived;
    sig_priv(ts)->stepping = 0;
    mc->flags &= ~FL_TF;
}

/* Where it then comes to: in translated code, as if the signal met it there. */
static void arrived(struct tstate *ts, struct sig_context *mc) {
    mc->ip = ts->target = rt_th(ts)->target_kept;
    rt_th(ts)->target_kept = 0;
    stop_or_step(ts, mc);
}

static void step_trap(struct tstate *ts, struct sig_context *mc) {
    struct sig_priv *p = sig_priv(ts);
    if (p->ac_off) {
        unaligned_done(ts, mc);
        if (!p->stepping) return;
    }
    if (p->step_pushf) {
        /* The guest must not see our trap flag in what it pushed. */
        u64 pushed;
        if (rt_copy_from(&pushed, mc->sp, 8) == 0) {
            pushed &= ~FL_TF;
            rt_copy_to(mc->sp, &pushed, 2);
        }
        p->step_pushf = 0;
    }
    if (in_cache(mc->ip)) {
        stop_or_step(ts, mc);
    } else if (in_range(mc->ip, rt_short_begin, rt_short_end)) {
        have_arrive(ts, mc);
    } else if (in_range(mc->ip, __start_rt_border, __stop_rt_border)) {
        mc->flags |= FL_TF;
    } else {
        mc->flags &= ~FL_TF;
        ts->rflags &= ~FL_TF; /* the exit sequence may have stored ours */
        p->stepping = 0;
    }
}

void rt_signal_step(struct tstate *ts) {
    sig_priv(ts)->stepping = 1;
    sig_priv(ts)->step_pushf = 0;
    ts->rflags |= FL_TF;
}

/* ---- the handler --------------------------------------------------------------------------- */

/* A fault in code of the runtime that expects it, and says where it then goes on (section rt_fixups). */
static bool fixed_up(struct sig_context *mc) {
    for (const struct sig_fixup *f = __start_rt_fixups; f < __stop_rt_fixups; f++)
        if (mc->ip == f->insn) {
            mc->ip = f->resume;
            return true;
        }
    return false;
}

static void fault_in_cache(struct tstate *ts, int sig, const struct sig_info *info, struct sig_ucontext *uc) {
    struct sig_priv *p = sig_priv(ts);
    struct sig_context *mc = &uc->mc;
    const struct ip_block *b = rt_block_of(mc->ip);
    struct ip_point point, *pt = b && rt_point_of(b, mc->ip, &point) ? &point : NULL;
    if (pt == NULL)
        rt_panic(ts, "signal %d (code %d) at 0x%lx in the code cache, outside of any block; address 0x%lx", sig,
                 info->code, mc->ip, info->addr);
    p->fault_info = *info;
    p->fault = pt->flags & IP_PF_RECHECK ? SIG_FAULT_RECHECK : SIG_FAULT_GUEST;
    p->fault_key = b->key;
    p->err = mc->err;
    p->trapno = mc->trapno;
    p->cr2 = mc->cr2;
    if (pt->flags & IP_PF_SHADOW) {
        u64 guest = info->addr - IP_V_CONST;
        /* Else no canonical address. */
        bool known = info->code != SIC_KERNEL;
        p->fault = pt->flags & IP_PF_EARLY ? SIG_FAULT_EARLY : SIG_FAULT_SHADOW;
        p->fault_info.addr = known ? guest : 0;
    }
    gather(ts, mc, b, pt);
    if (sig == SIG_FPE || sig == SIG_ILL || sig == SIG_TRAP)
        p->fault_info.addr = rt_pc(ts->pc); /* the instruction, sigaction(2) */
    redirect(ts, mc);
}

static void fault(struct tstate *ts, int sig, const struct sig_info *info, struct sig_ucontext *uc) {
    struct rt_thread *th = rt_th(ts);
    struct sig_context *mc = &uc->mc;
    if (sig_priv(ts)->ac_off) unaligned_done(ts, mc);
    if (sig == SIG_BUS && info->code == BUS_ALIGNMENT && step_unaligned(ts, mc)) return;
    if (in_cache(mc->ip)) {
        if (sig == SIG_SEGV && rt_callstack_full(ts, info->addr, mc)) return;
        if (sig == SIG_TRAP && info->code == TRAP_WATCHED) {
            sig_note_hit(sig_priv(ts), mc->ip);
            sig_priv(ts)->watched = 1;
            th->pending = 1; /* comes back, and rt_signal_deliver tells it */
            stop_or_step(ts, mc);
        } else {
            fault_in_cache(ts, sig, info, uc);
        }
        return;
    }
    if (sig == SIG_TRAP && info->code == TRAP_WATCHED)
        return; /* by the runtime; natively it would be the kernel, which debug registers do not hear */
    bool memory = sig == SIG_SEGV || sig == SIG_BUS;
    if (memory && in_range(mc->ip, rt_copy_begin, rt_copy_end)) {
        if (sig == SIG_SEGV && (mc->err & PF_WRITE) && info->code == SEGV_NO_ACCESS &&
            rt_code_page_fault(ts, info->addr))
            return;
        struct sig_priv *p = sig_priv(ts);
        p->copy_info = *info;
        p->copy_err = mc->err, p->copy_trapno = mc->trapno, p->copy_cr2 = mc->cr2;
        mc->ip = (u64)rt_copy_fault;
        return;
    }
    if (memory && fixed_up(mc)) return;
    if (memory && th->fault_resume) {
        mc->ip = th->fault_resume;
        th->fault_resume = 0;
        return;
    }
    u64 host[16];
    host_registers(mc, host);
    rt_panic_host = host;
    rt_panic(ts, "signal %d (code %d) in the runtime at 0x%lx, address 0x%lx", sig, info->code, mc->ip,
             memory ? info->addr : 0);
}

const struct sig_kernel_entry *sig_kernel_entry(u64 ip) {
    static const struct sig_kernel_entry all[] = {
        {rt_kernel_begin, rt_kernel_insn, rt_kernel_abort, __NR_restart_syscall},
        {rt_kernel32_begin, rt_kernel32_insn, rt_kernel32_abort, 0},
        {rt_asking_begin, rt_asking_insn, rt_kernel_abort, __NR_restart_syscall},
    };
    for (u32 i = 1; i < sizeof all / sizeof *all; i++)
        if (ip >= (u64)all[i].begin && ip <= (u64)all[i].insn + 2) return &all[i];
    return &all[0];
}

/* There is nothing to deliver: a call that the kernel broke off for this signal
 * begins again, the guest must not notice. */
static void hide_interruption(struct tstate *ts, struct sig_context *mc) {
    const struct sig_kernel_entry *k = sig_kernel_entry(mc->ip);
    if (!deliverable(ts) && mc->ip == (u64)k->insn + 2 && (long)mc->ax == -EINTR) mc->ip = (u64)k->abort;
}

/* The handler of SIG_SYNC blocks none of these, for it may meet a fault of its own: so one comes amid the entry for
 * another of its number, if that has not had a CPU since.  That one was first, and will be recorded (record). */
static bool comes_second(int sig, const struct sig_context *mc) {
    const struct sig_info *first = (const struct sig_info *)mc->si;
    return is_sync(sig) && in_range(mc->ip, (const char *)rt_host_entry, (const char *)rt_host_restorer) &&
           (int)mc->di == sig && (first->code == SIC_USER || first->code == SIC_QUEUE || first->code == SIC_TKILL);
}

static void asynchronous(struct tstate *ts, struct sig_context *mc, bool kick) {
    struct rt_thread *th = rt_th(ts);
    const struct sig_kernel_entry *k = sig_kernel_entry(mc->ip);
    u64 insn = (u64)k->insn;
    if (in_cache(mc->ip)) {
        stop_or_step(ts, mc);
    } else if (mc->ip == insn && mc->ax == k->restart) {
        /* After a stop the kernel was about to go on with a sleep: a handler ends it. */
        mc->ip = insn + 2;
        mc->ax = (u64)-EINTR;
        th->debug_broke = rt_debugged() != 0;
    } else if (mc->ip >= (u64)k->begin && mc->ip <= insn) {
        mc->ip = (u64)k->abort;
    } else if (mc->ip == insn + 2) {
        if (kick)
            hide_interruption(ts, mc);
        else if ((long)mc->ax == -EINTR)
            th->debug_broke = rt_debugged() != 0;
    } else if (in_range(mc->ip, rt_enter_begin, rt_enter_end)) {
        th->in_runtime = RT_IN_RUNTIME;
        mc->ip = (u64)rt_enter_restart;
        mc->sp = ts->rt_sp & ~15ull;
        mc->di = (u64)ts;
        mc->flags &= ~(FL_TF | FL_DF | FL_AC);
        ts->rflags &= ~(sig_priv(ts)->stepping ? FL_TF : 0);
        sig_priv(ts)->stepping = 0;
    } else if (in_range(mc->ip, rt_short_begin, rt_short_end)) {
        have_arrive(ts, mc);
    } else if (in_range(mc->ip, __start_rt_border, __stop_rt_border)) {
        arm(ts, mc);
    }
}

__attribute__((used)) void sig_host_handler(int sig, const struct sig_info *info, struct sig_ucontext *uc) {
    struct tstate *ts = rt_current();
    struct rt_thread *th = rt_th(ts);
    struct sig_context *mc = &uc->mc;
    bool kick = sig == SIG_TRAP && info->code == RT_KICK_CODE && info->rt.value == IP_MAGIC &&
                info->rt.pid == (int)th->pid;
    bool traced = sig == SIG_TRAP && (info->code == 1 || info->code == 2) && (mc->trapno == IP_VEC_DB);

    if (kick) {
        th->kick = 1;
        th->pending = 1; /* without pending_sig: only come back */
        asynchronous(ts, mc, true);
        return;
    }
    if (sig == SIG_TRAP && info->code == RT_STOP_CODE && info->rt.value == IP_MAGIC) {
        rt_trace(ts)->on = 0; /* it was for a tracer that is no more */
        return;
    }
    if (sig == SIG_TRAP && info->code == SIC_IO && (int)info->rt.value == rt_watched_fd) {
        /* Descriptors came over the socket, or its other side is closed. */
        if (!rt_leaving && rt_supervisor_gone()) rt_end_alone();
        hide_interruption(ts, mc);
        return;
    }
    if (traced && (mc->ip == (u64)rt_int1 || mc->ip == (u64)rt_int1_after)) {
        int1_code = info->code;
        int1_early = mc->ip == (u64)rt_int1;
        mc->ip = (u64)rt_int1_after;
        sig_xstate_seen(ts, mc);
        return;
    }
    if (traced && sig_priv(ts)->stepping) {
        step_trap(ts, mc);
        return;
    }
    if (traced) {
        /* A popf of the guest's has set its trap flag. */
        rt_th(ts)->trap_flag = 1;
        if (in_cache(mc->ip))
            stop_or_step(ts, mc);
        else
            arm(ts, mc); /* step_trap ends it outside of the assembly */
        return;
    }
    /* si_code > 0: the kernel's own; sent signals have 0 or less, sigaction(2). */
    bool event = sig == SIG_TRAP && info->code == TRAP_PERF;
    if (event && info->perf.type == PERF_BREAKPOINT && !in_cache(mc->ip)) return; /* as in fault() */
    if (event) sig_note_hit(sig_priv(ts), mc->ip);
    if (is_sync(sig) && info->code > 0 && !event) {
        if (mc->ip == (u64)rt_arrived) {
            arrived(ts, mc);
            return;
        }
        fault(ts, sig, info, uc);
        return;
    }
    if (comes_second(sig, mc)) return;
    struct sig_info own = *info;
    if (sig == SIG_CHLD && tracer_hides(ts, &own)) {
        hide_interruption(ts, mc);
        return;
    }
    if (sig_never_comes(ts, sig) || !record(ts, sig, &own)) {
        hide_interruption(ts, mc);
        return;
    }
    uc->sigmask = SIG_BLOCK_ALL;
    asynchronous(ts, mc, false);
}

/* ---- delivery -------------------------------------------------------------------------------- */

static void stop_by_signal(struct tstate *ts, int sig) {
    struct sig_action dfl = {0}, old;
    struct rt_thread *th = rt_th(ts);
    struct rt_trace *t = rt_trace(ts);
    t->status = (u32)sig;
    t->kind = RT_STOP_GROUP; /* a tracer lets it happen */
    if (sig != SIG_STOP) sig_kernel_action(sig, &dfl, &old);
    sys3(__NR_tgkill, th->pid, th->tid, sig);
    sig_kernel_mask(~SIG_BIT(sig)); /* stops here */
    sig_kernel_mask(SIG_BLOCK_ALL);
    if (sig != SIG_STOP) sig_kernel_action(sig, &old, NULL);
    traced_resumed(ts);
}

static void show_default(struct tstate *ts, const struct sig_info *info) {
    u64 bit = SIG_BIT(info->signo);
    bool stops = bit & (SIG_STOPPING | SIG_BIT(SIG_STOP));
    const char *kills = sig_dumps_core(info->signo) ? "terminate+core" : "terminate";
    sig_show_default(ts, info->signo, info->code, bit & SIG_HARMLESS ? "ignore" : stops ? "stop" : kills);
}

/* One signal, as the kernel's get_signal and handle_signal would: forced ones
 * (faults) cannot be blocked or ignored. */
static void deliver(struct tstate *ts, struct sig_info *info, bool forced) {
    struct rt_thread *th = rt_th(ts);
    int sig = info->signo;
    if (forced) rt_delay(IP_AT_FAULT);
    if (rt_debugged() && (sig = rt_debug_signal(ts, info)) == 0) return;
    if (forced && (rt.final_calls || (th->sigmask & SIG_BIT(sig)) || sig_table_get(ts, sig).handler == SIGH_IGN)) {
        sig_table_set_default(ts, sig);
        th->sigmask &= ~SIG_BIT(sig);
    }
    traced_broken(ts);
    if (rt_trace(ts)->on && (sig = traced_signal(ts, info)) == 0) return;
    struct sig_action act = sig_table_take(ts, sig);
    sig_show_delivery(ts, info);
    if (act.handler == SIGH_IGN || (!forced && sig_is_spared(ts, &act))) return;
    if (act.handler == SIGH_DFL) {
        show_default(ts, info);
        if (SIG_BIT(sig) & SIG_HARMLESS) return;
        if (SIG_BIT(sig) & (SIG_STOPPING | SIG_BIT(SIG_STOP))) {
            stop_by_signal(ts, sig);
            return;
        }
        ts->pc = rt_key(rt_pc(ts->pc));
        sig_priv(ts)->fault_info = *info;
        if (info->code == SIC_KERNEL && sig_priv(ts)->no_room) /* what it is in truth */
            rt_die_by_signal(ts, sig, SEGV_NO_MAP, sig_priv(ts)->no_room);
        rt_die_by_signal(ts, sig, info->code, info->addr);
    }
    traced_restart(ts, &act);
    rt_debug_handles(ts);
    if (sig_setup_frame(ts, &act, info)) {
        traced_handler(ts);
        return;
    }
    /* The frame does not fit: SIGSEGV instead, which may have a handler on
     * another stack; if it was SIGSEGV itself, the end. */
    struct sig_info segv = {.signo = SIG_SEGV, .code = SIC_KERNEL};
    if (sig == SIG_SEGV) {
        sig_table_set_default(ts, SIG_SEGV);
        rt_die_by_signal(ts, SIG_SEGV, sig_priv(ts)->no_room ? SEGV_NO_MAP : SIC_KERNEL, sig_priv(ts)->no_room);
    }
    deliver(ts, &segv, true);
    sig_priv(ts)->no_room = 0;
}

static u32 stopping; /* set by the thread that ends the process */
static u32 held_off; /* by so many threads, in a fork or an exec */
static struct tstate *stopper;

void sig_after_fork(struct tstate *ts) {
    sig_priv(ts)->tiles = false; /* the child has used none */
    stopping = held_off = 0;
    stopper = NULL;
    sig_table_untell();
}

/* In either order with sig_stop_others, one of the two sees what the other has done. */
bool sig_is_ending(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&stopping, __ATOMIC_SEQ_CST) != th->pid || stopper == ts) return false;
    th->pending = 1; /* parks on the way back */
    return true;
}

bool sig_hold_off_end(struct tstate *ts) {
    if (rt_th(ts)->vfork_child) return true; /* a process of its own, and when it is killed it gives nothing back */
    __atomic_fetch_add(&held_off, 1, __ATOMIC_SEQ_CST);
    if (!sig_is_ending(ts)) return true;
    sig_admit_end(ts);
    return false;
}

void sig_admit_end(struct tstate *ts) {
    if (!rt_th(ts)->vfork_child) __atomic_fetch_sub(&held_off, 1, __ATOMIC_SEQ_CST);
}

static RT_NORETURN void park(struct tstate *ts) {
    sig_block_everything();
    __atomic_store_n(&sig_priv(ts)->parked, 1, __ATOMIC_RELEASE);
    sig_pose(ts);
}

/* It came while a fault was on its way to a handler that blocks it: natively the fault's mask is there before that. */
static bool put_back(struct tstate *ts, const struct sig_info *info) {
    struct rt_thread *th = rt_th(ts);
    sig_kernel_mask(SIG_BLOCK_ALL);
    if (sys4(__NR_rt_tgsigqueueinfo, th->pid, th->tid, info->signo, (long)info) != 0) return false;
    sig_apply_mask(th);
    return true;
}

void rt_signal_deliver(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    if (__atomic_load_n(&stopping, __ATOMIC_ACQUIRE) == th->pid) {
        if (stopper != ts) park(ts);
        /* Runs the final calls: for the program it is over, signals come too late. */
        th->pending = th->pending_sig = 0;
        return;
    }
    struct sig_priv *p = sig_priv(ts);
    th->kick = 0;
    for (;;) {
        struct sig_info info;
        if (p->watched) {
            p->watched = 0;
            rt_signal_raise(ts, SIG_TRAP, TRAP_WATCHED, rt_pc(ts->pc));
        }
        if (rt_trace(ts)->wants) {
            if (traced_wanted(ts, &info)) deliver(ts, &info, false);
            th->pending = 1; /* what came meanwhile, and the mask */
            continue;
        }
        if (!th->pending_sig && (p->vpend & ~th->sigmask))
            sig_kernel_mask(SIG_BLOCK_ALL); /* what comes now may not overtake it */
        u64 ready = p->vpend & ~th->sigmask;
        if (th->pending_sig) {
            memcpy(&info, th->pending_info, sizeof info);
            th->pending_sig = 0;
            th->pending = 0;
            if ((th->sigmask & SIG_BIT(info.signo)) && put_back(ts, &info)) continue;
        } else if (ready) {
            int sig = __builtin_ctzll(ready) + 1;
            info = p->vinfo[sig_sync_index(sig)];
            __atomic_fetch_and(&p->vpend, ~SIG_BIT(sig), __ATOMIC_RELAXED);
            th->pending = 0;
        } else if (th->pending) {
            /* Only a kick; but a signal may come between the two lines. */
            th->pending = 0;
            __atomic_signal_fence(__ATOMIC_SEQ_CST);
            if (deliverable(ts))
                th->pending = 1;
            else
                sig_apply_mask(th);
            continue;
        } else {
            break;
        }
        deliver(ts, &info, false);
        /* Otherwise the kernel's next one waits until those are through. */
        if (!(p->vpend & ~th->sigmask)) sig_apply_mask(th);
    }
    traced_restart(ts, NULL);
    if (p->restore_mask) { /* no handler after all */
        p->restore_mask = 0;
        th->sigmask = p->saved_mask;
        sig_apply_mask(th);
    }
    if (th->debug_broken.pc) rt_debug_unbreak(ts);
}

/* Exceptions that restart their instruction are pushed with RF set (CPU
 * manual, "Instruction-Breakpoint Exception"), which a handler can see. */
static void fault_flags(struct tstate *ts, int sig) {
    if (sig != SIG_TRAP) ts->rflags |= FL_RF;
}

void rt_signal_raise(struct tstate *ts, int sig, int code, u64 addr) {
    struct sig_info info = {.signo = sig, .code = code, .addr = addr};
    struct sig_priv *p = sig_priv(ts);
    p->err = 0;
    fault_flags(ts, sig);
    /* x86 exception numbers: the kernel shows them in the frame. */
    switch (sig) {
    case SIG_SEGV:
        p->trapno = code == SIC_KERNEL ? IP_VEC_GP : IP_VEC_PF;
        if (code != SIC_KERNEL) {
            /* User, instruction fetch; the kernel shows its own half as mapped. */
            p->err = code == SEGV_NO_ACCESS || addr >> 47 ? 0x15 : 0x14;
            p->cr2 = addr;
        }
        break;
    case SIG_ILL: p->trapno = IP_VEC_UD; break;
    case SIG_TRAP: p->trapno = code == SIC_KERNEL ? IP_VEC_BP : IP_VEC_DB; break;
    case SIG_FPE: p->trapno = IP_VEC_DE; break;
    case SIG_BUS:
        p->trapno = IP_VEC_PF;
        p->err = 0x14;
        p->cr2 = addr;
        break;
    default: break;
    }
    deliver(ts, &info, true);
    sig_apply_mask(rt_th(ts));
}

void rt_signal_exception(struct tstate *ts, enum ip_vector vector, u32 err) {
    struct sig_info info = {.signo = vector == IP_VEC_NP || vector == IP_VEC_SS || vector == IP_VEC_AC ? SIG_BUS
                                                                                                       : SIG_SEGV,
                            .code = vector == IP_VEC_AC ? BUS_ALIGNMENT : SIC_KERNEL};
    struct sig_priv *p = sig_priv(ts);
    p->err = err;
    p->trapno = vector;
    if (vector != IP_VEC_OF) fault_flags(ts, SIG_SEGV);
    deliver(ts, &info, true);
    sig_apply_mask(rt_th(ts));
}

/* Memory of ours: for the guest there is none. */
static void hide_ours(struct sig_priv *p, struct sig_info *info) {
    struct rt_seg seg;
    if (info->signo == SIG_SEGV && info->code == SEGV_NO_ACCESS && !rt_find_seg(info->addr, &seg)) {
        info->code = SEGV_NO_MAP;
        p->err &= ~1ull;
    }
}

static void tell_overflow(struct tstate *ts, const struct sig_info *info) {
    if (info->signo == SIG_SEGV && info->code == SEGV_NO_MAP && rt_overflows_stack(ts, info->addr))
        rt_note(ts, "Stack overflow in thread #%lu: can't grow stack to 0x%lx", ts->tid_guest,
                RT_ROUND_DOWN(info->addr, RT_PAGE));
}

bool rt_signal_copied(struct tstate *ts, bool stack) {
    struct sig_priv *p = sig_priv(ts);
    struct sig_info info = p->copy_info;
    if (info.signo == SIG_SEGV && info.code != SIC_KERNEL && !(p->copy_err & 1) && rt_grow_stack(ts, info.addr))
        return true;
    if (p->copy_trapno == IP_VEC_GP && stack) {
        rt_signal_exception(ts, IP_VEC_SS, 0);
        return false;
    }
    p->err = p->copy_err, p->trapno = p->copy_trapno, p->cr2 = p->copy_cr2;
    hide_ours(p, &info);
    tell_overflow(ts, &info);
    fault_flags(ts, info.signo);
    deliver(ts, &info, true);
    sig_apply_mask(rt_th(ts));
    return false;
}

void rt_signal_int1(struct tstate *ts, u32 len) {
    if (!int1_code) rt_int1();
    if (int1_early) ts->pc -= len;
    rt_signal_raise(ts, SIG_TRAP, int1_code, ts->pc);
}

void rt_signal_sys(struct tstate *ts, int code, int nr, int error, u32 arch, u64 call_addr) {
    struct sig_info info = {.signo = SIG_SYS, .error = error, .code = code};
    info.sys.call_addr = call_addr;
    info.sys.nr = nr;
    info.sys.arch = arch;
    deliver(ts, &info, true);
    sig_apply_mask(rt_th(ts));
}

/* The page was writable again when we came: another thread was faster. */
static bool lost_race(struct tstate *ts, u64 addr) {
    struct sig_priv *p = sig_priv(ts);
    struct rt_seg seg;
    if (!rt_find_seg(addr, &seg) || !(seg.prot & 2 /* PROT_WRITE */)) return false;
    if (p->retry_pc != ts->pc || p->retry_addr != addr) p->retry_pc = ts->pc, p->retry_addr = addr, p->retries = 0;
    return ++p->retries < MAX_RETRIES;
}

static void resume_fault(struct tstate *ts, u32 kind) {
    struct sig_priv *p = sig_priv(ts);
    struct sig_info info = p->fault_info;
    /* Another signal first: the fault will come again. */
    if (rt_th(ts)->pending_sig && !(SIG_BIT(SIG_TRAP) & SIG_BIT(info.signo))) return;
    if (kind == SIG_FAULT_RECHECK) {
        rt_forget_block(ts, p->fault_key);
        return;
    }
    /* By the mapping's rights: the page itself need not be there (a shared one after a fork). */
    if (kind == SIG_FAULT_GUEST && info.signo == SIG_SEGV && (p->err & PF_WRITE) && info.code == SEGV_NO_ACCESS) {
        u64 pc = ts->pc;
        if (rt_code_page_fault(ts, info.addr) || lost_race(ts, info.addr)) {
            ts->pc = pc | IP_KEY_ONE; /* not the rest of a block that may be stale */
            return;
        }
    }
    /* No mapping there: perhaps a stack that grows. */
    if (info.signo == SIG_SEGV && info.code != SIC_KERNEL && (kind != SIG_FAULT_GUEST || !(p->err & 1)) &&
        rt_grow_stack(ts, info.addr))
        return;
    if (kind == SIG_FAULT_EARLY) {
        ts->pc |= IP_KEY_TRACK | IP_KEY_NOREDIR;
        return;
    }
    if (kind == SIG_FAULT_SHADOW) {
        /* The instruction itself shows which fault it is, and whether it is one. */
        if (info.code != SIC_KERNEL)
            rt_hook_no_memory(ts, info.addr);
        else
            rt_hook_no_address(ts);
        sig_told_interrupted(ts);
        ts->pc |= IP_KEY_ONE | IP_KEY_BARE;
        return;
    }
    sig_told_done(ts);
    hide_ours(p, &info);
    tell_overflow(ts, &info);
    fault_flags(ts, info.signo);
    deliver(ts, &info, true);
    sig_apply_mask(rt_th(ts));
}

__attribute__((used)) RT_NORETURN void rt_signal_resume(struct tstate *ts) {
    struct sig_priv *p = sig_priv(ts);
    u32 kind = p->fault;
    p->fault = SIG_FAULT_NONE;
    if (kind != SIG_FAULT_NONE) resume_fault(ts, kind);
    rt_signal_deliver(ts);
    rt_run(ts);
}

/* ---- other threads --------------------------------------------------------------------------- */

static void send_kick(struct rt_thread *th) {
    struct sig_info info = {.signo = SIG_TRAP, .code = RT_KICK_CODE};
    info.rt.pid = (int)th->pid;
    info.rt.value = IP_MAGIC;
    sys4(__NR_rt_tgsigqueueinfo, th->pid, th->tid, SIG_TRAP, (long)&info);
}

bool rt_kick(struct rt_thread *th) {
    __atomic_store_n(&th->kick, 1, __ATOMIC_SEQ_CST);
    if (!rt_is_inside(th->ts)) return false;
    send_kick(th);
    return true;
}

static void nap(void) {
    i64 pause[2] = {0, 500000};
    sys2(__NR_nanosleep, (long)pause, 0);
}

void sig_stop_others(struct tstate *ts) {
    u32 nobody = 0, me = rt_th(ts)->pid;
    if (stopper == ts) return; /* a final call came back */
    if (!__atomic_compare_exchange_n(&stopping, &nobody, me, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) park(ts);
    stopper = ts;
    while (__atomic_load_n(&held_off, __ATOMIC_SEQ_CST)) nap();
    for (u32 i = 0; i < thread_count(); i++) {
        struct tstate *o = rt_thread_by_index(i);
        if (o != ts && rt_is_thread(o) && rt_th(o)->tid) send_kick(rt_th(o));
    }
    for (u32 i = 0; i < thread_count(); i++) {
        struct tstate *o = rt_thread_by_index(i);
        struct thread_wait w = {0};
        /* A thread that stands still counts as away. */
        while (o != ts && !rt_th(o)->vfork_child && !sig_priv(o)->parked && rt_is_inside(o) && thread_wait(o, &w));
    }
}

/* ---- start ----------------------------------------------------------------------------------- */

void rt_signal_thread_init(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    long r = sig_host_altstack(th, th->sigstack_size);
    if (r != 0) rt_die("no alternate signal stack for a thread (error %ld); check 'ulimit -v'", -r);
    sig_unblock_everything(th);
}

void rt_signal_init(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    u64 inherited = 0;
    sys4(__NR_rt_sigprocmask, 0, 0, (long)&inherited, 8);
    th->sigmask = inherited;
    th->altstack_flags = 0; /* what a program finds after exec */
    sig_block_everything();
    sig_xstate_init();
    sig_table_init(ts);
    rt_signal_thread_init(ts);
}

bool rt_canonical(u64 addr) {
    u8 byte;
    return addr >> 47 == 0 || rt_copy_from(&byte, addr, 1) == 0 || sig_priv(rt_current())->copy_trapno != IP_VEC_GP;
}
