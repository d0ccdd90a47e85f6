/* Signals, host side: our handler, recording, stepping to a boundary (sigdeliver.c goes on from there).
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
#include "runtime/signals/signals.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/hooks.h"
#include "runtime/signals/sig.h"
#include "runtime/ptrace/ptrace.h"

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

bool sig_deliverable(struct tstate *ts) {
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
        if (sig == SIG_SEGV && (mc->err & SIG_PF_WRITE) && info->code == SEGV_NO_ACCESS &&
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
    if (!sig_deliverable(ts) && mc->ip == (u64)k->insn + 2 && (long)mc->ax == -EINTR) mc->ip = (u64)k->abort;
}

/* The handler of SIG_SYNC blocks none of these, for it may meet a fault of its own: so one comes amid the entry for
 * another of its number, if that has not had a CPU since.  That one was first, and will be recorded (record). */
static bool comes_second(int sig, const struct sig_context *mc) {
    const struct sig_info *first = (const struct sig_info *)mc->si;
    return is_sync(sig) && in_range(mc->ip, (const char *)rt_host_entry, (const char *)rt_host_restorer) &&
           (int)mc->di == sig && (first->code == SIC_USER || first->code == SIC_QUEUE || first->code == SIC_TKILL);
}

/* A signal of SIG_SYNC with the code of a fault that none has caused: the program has sent it, which the kernel allows
 * a thread to itself (crash reporters have the fault that they handled come again).  It comes as that call returns, or
 * the one that opens the mask: rcx is the address behind the syscall instruction then. */
static bool is_resent(struct tstate *ts, int sig, const struct sig_info *info, const struct sig_context *mc) {
    if (!is_sync(sig) || info->code <= 0 || mc->cx != mc->ip || in_cache(mc->ip)) return false;
    return sig != SIG_TRAP || (info->code != TRAP_PERF && info->code != TRAP_WATCHED && !sig_priv(ts)->stepping);
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
    bool resent = is_resent(ts, sig, info, mc); /* trapno is an older fault's then */
    bool traced = sig == SIG_TRAP && (info->code == 1 || info->code == 2) && mc->trapno == IP_VEC_DB && !resent;

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
    /* si_code > 0: the kernel's own; what others send has 0 or less, sigaction(2). */
    bool event = sig == SIG_TRAP && info->code == TRAP_PERF;
    if (event && info->perf.type == PERF_BREAKPOINT && !in_cache(mc->ip)) return; /* as in fault() */
    if (event) sig_note_hit(sig_priv(ts), mc->ip);
    if (is_sync(sig) && info->code > 0 && !event && !resent) {
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
void rt_signal_int1(struct tstate *ts, u32 len) {
    if (!int1_code) rt_int1();
    if (int1_early) ts->pc -= len;
    rt_signal_raise(ts, SIG_TRAP, int1_code, ts->pc);
}

/* ---- other threads --------------------------------------------------------------------------- */

void sig_kick(struct rt_thread *th) {
    struct sig_info info = {.signo = SIG_TRAP, .code = RT_KICK_CODE};
    info.rt.pid = (int)th->pid;
    info.rt.value = IP_MAGIC;
    sys4(__NR_rt_tgsigqueueinfo, th->pid, th->tid, SIG_TRAP, (long)&info);
}

bool rt_kick(struct rt_thread *th) {
    __atomic_store_n(&th->kick, 1, __ATOMIC_SEQ_CST);
    if (!rt_is_inside(th->ts)) return false;
    sig_kick(th);
    return true;
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
