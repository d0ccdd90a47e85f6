/* Delivery of what signal.c has recorded, and of faults: on the runtime's stack, with the guest's state in ts. */
#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/processes/processes.h"
#include "runtime/signals/signals.h"
#include "runtime/hooks.h"
#include "runtime/signals/sig.h"
#include "runtime/ptrace/ptrace.h"

#define MAX_RETRIES 10000

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

/* It came while a fault was on its way to a handler that blocks it: natively the fault's mask is there before that. */
static bool put_back(struct tstate *ts, const struct sig_info *info) {
    sig_kernel_mask(SIG_BLOCK_ALL);
    if (!sig_requeue(ts, info)) return false;
    sig_apply_mask(rt_th(ts));
    return true;
}

void rt_signal_deliver(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    if (sig_park_at_end(ts)) {
        /* For the program it is over, signals come too late. */
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
            if (sig_deliverable(ts))
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
    if (kind == SIG_FAULT_GUEST && info.signo == SIG_SEGV && (p->err & SIG_PF_WRITE) && info.code == SEGV_NO_ACCESS) {
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
