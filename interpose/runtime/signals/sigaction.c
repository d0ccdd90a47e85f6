/* What the guest asked for: actions, masks, alternate stack.
 *
 * The kernel holds our handler for every signal that may end the process (so
 * that the end can be reported first) and for every signal with a guest
 * handler; SIG_IGN, and SIG_DFL of stop and ignore-by-default signals, are
 * real, and so is every SIG_DFL while a thread waits killably.  SA_RESTART and the SIGCHLD flags go through, so the
 * kernel's own restart rules hold (signal(7)).
 */
#include "runtime/core/core.h"
#include "runtime/signals/signals.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/signals/sig.h"
#include "runtime/ptrace/ptrace.h"

static struct sig_table process_table;
static u64 told;      /* signals that get our handler whatever their action is */
static u32 killables; /* threads in a call that only what the kernel takes for fatal interrupts */

long sig_kernel_action(int sig, const struct sig_action *act, struct sig_action *old) {
    return sys4(__NR_rt_sigaction, sig, (long)act, (long)old, 8);
}

/* The kernel itself does what the action says. */
static bool is_real(int sig, const struct sig_action *guest) {
    return guest->handler == SIGH_IGN ||
           (guest->handler == SIGH_DFL && (killables || (SIG_BIT(sig) & (SIG_STOPPING | SIG_HARMLESS))));
}

/* The kernel asks whether some are ignored, and sends none then: ptrace does not show them, either. */
static bool can_be_told(int sig, const struct sig_action *guest) {
    return guest->handler == SIGH_DFL || (sig != SIG_CHLD && sig != SIG_TTIN && sig != SIG_TTOU);
}

static void install(int sig, const struct sig_action *guest) {
    struct sig_action k = {0};
    u64 bit = SIG_BIT(sig);
    k.flags = SA_FL_SIGINFO | SA_FL_ONSTACK | SA_FL_RESTORER |
              (guest->flags & (SA_FL_RESTART | SA_FL_NOCLDSTOP | SA_FL_NOCLDWAIT));
    k.restorer = (u64)rt_host_restorer;
    k.mask = SIG_BLOCK_ALL;
    if (bit & SIG_SYNC) {
        /* A fault inside our own handler (guest memory) must reach us too.
         * SA_RESTART: a kick (SIGTRAP) should not disturb a system call. */
        k.handler = (u64)rt_host_entry;
        k.flags |= SA_FL_NODEFER | (guest->handler <= SIGH_IGN ? SA_FL_RESTART : 0);
    } else if (is_real(sig, guest) && !((told & bit) && can_be_told(sig, guest))) {
        k.handler = guest->handler;
    } else {
        k.handler = (u64)rt_host_entry;
    }
    sig_kernel_action(sig, &k, NULL);
}

static bool has_action(int sig) { return sig != SIG_KILL && sig != SIG_STOP; }

static void reinstall(u64 signals) {
    for (int sig = 1; sig <= SIG_MAX; sig++)
        if ((signals & ~SIG_SYNC & SIG_BIT(sig)) && has_action(sig) && process_table.act[sig].handler <= SIGH_IGN)
            install(sig, &process_table.act[sig]);
}

void sig_table_tell(struct tstate *ts) {
    u64 more = rt.chan->debug & IP_DBG_ON ? rt.chan->debug_minded & ~__atomic_load_n(&told, __ATOMIC_RELAXED) : 0;
    if (!more || sig_priv(ts)->table != &process_table) return;
    rt_lock(&process_table.lock);
    __atomic_fetch_or(&told, more, __ATOMIC_RELAXED);
    reinstall(more);
    rt_unlock(&process_table.lock);
}

bool sig_are_told(void) { return __atomic_load_n(&told, __ATOMIC_RELAXED) != 0; }

void sig_table_untell(void) {
    u64 were = killables ? ~0ul : told;
    told = 0;
    killables = 0;
    if (were) reinstall(were);
}

void sig_table_killable(struct tstate *ts, bool begin) {
    struct sig_table *t = sig_priv(ts)->table;
    if (t != &process_table) return;
    rt_lock(&t->lock);
    bool changes = begin ? killables++ == 0 : --killables == 0;
    if (changes) reinstall(~0ul);
    rt_unlock(&t->lock);
}

bool sig_is_ignored(struct tstate *ts, int sig) {
    u64 handler = sig_priv(ts)->table->act[sig].handler;
    return handler == SIGH_IGN || (handler == SIGH_DFL && (SIG_BIT(sig) & SIG_HARMLESS));
}

/* The kernel lets such a one go before a fork, and one for a group (Ctrl-C) reaches the child, too, which would miss
 * what came while we had signals blocked.  What has a handler can wait, for the parent's goes on with the fork: and a
 * timer might have it begin anew for ever. */
static bool acts_by_default(struct tstate *ts, u64 signals) {
    u64 pending = 0;
    if (sys2(__NR_rt_sigpending, (long)&pending, 8) != 0) return false;
    pending &= signals & ~(rt_th(ts)->sigmask | SIG_SYNC);
    for (int sig = 1; sig <= SIG_MAX; sig++)
        if (pending & SIG_BIT(sig) && sig_priv(ts)->table->act[sig].handler == SIGH_DFL) return true;
    return false;
}

bool sig_ends_or_stops(struct tstate *ts) { return acts_by_default(ts, ~SIG_HARMLESS); }
bool sig_ends(struct tstate *ts) { return acts_by_default(ts, ~(SIG_HARMLESS | SIG_STOPPING)); }

/* The kernel cannot tell, for it holds our handler. */
bool sig_is_spared(struct tstate *ts, const struct sig_action *act) {
    return rt_th(ts)->pid == 1 && act->handler == SIGH_DFL;
}

/* A debugger and a tracer decide what comes of a signal (deliver). */
static bool is_shown(struct tstate *ts) { return rt_debugged() || rt_trace(ts)->on; }

/* What is blocked waits. */
bool sig_never_comes(struct tstate *ts, int sig) {
    struct rt_thread *th = rt_th(ts);
    struct sig_action act = sig_table_get(ts, sig);
    return sig_is_spared(ts, &act) && !(th->sigmask & SIG_BIT(sig)) && !is_shown(ts);
}

bool sig_would_end(struct tstate *ts, int sig, u32 tid) {
    struct rt_thread *th = rt_th(ts);
    struct tstate *o;
    if (sig < 1 || sig > SIG_MAX || (SIG_BIT(sig) & (SIG_HARMLESS | SIG_STOPPING | SIG_UNBLOCKABLE))) return false;
    struct sig_action act = sig_table_get(ts, sig);
    if (act.handler != SIGH_DFL || sig_is_spared(ts, &act) || is_shown(ts)) return false;
    if (tid == 0) tid = th->pid;
    if (tid == th->tid) return !(th->sigmask & SIG_BIT(sig));
    for (u32 i = 0; !th->vfork_child && (o = rt_thread_by_index(i)); i++) {
        const struct rt_thread *other = rt_th(o);
        if (other->tid == tid && rt_is_thread(o)) return !other->exiting && !(other->sigmask & SIG_BIT(sig));
    }
    return false;
}

void sig_table_init(struct tstate *ts) {
    struct sig_priv *p = sig_priv(ts);
    p->table = &process_table;
    for (int sig = 1; sig <= SIG_MAX; sig++) {
        struct sig_action old = {0};
        if (!has_action(sig) || sig_kernel_action(sig, NULL, &old) != 0) continue;
        struct sig_action *a = &process_table.act[sig];
        a->handler = old.handler == SIGH_IGN ? SIGH_IGN : SIGH_DFL;
        install(sig, a);
    }
}

void sig_table_inherit(struct tstate *parent, struct tstate *child, bool copy) {
    struct sig_priv *from = sig_priv(parent), *to = sig_priv(child);
    to->table = from->table;
    to->own_table = 0;
    if (!copy) return;
    to->table = rt_pages(sizeof *to->table);
    rt_lock(&from->table->lock);
    memcpy(to->table->act, from->table->act, sizeof to->table->act);
    rt_unlock(&from->table->lock);
    to->own_table = 1;
}

void sig_table_drop(struct tstate *ts) {
    struct sig_priv *p = sig_priv(ts);
    if (p->own_table) rt_free_pages(p->table, sizeof *p->table);
    p->table = &process_table;
    p->own_table = 0;
}

struct sig_action sig_table_get(struct tstate *ts, int sig) {
    struct sig_table *t = sig_priv(ts)->table;
    rt_lock(&t->lock);
    struct sig_action a = t->act[sig];
    rt_unlock(&t->lock);
    return a;
}

struct sig_action sig_table_take(struct tstate *ts, int sig) {
    struct sig_table *t = sig_priv(ts)->table;
    rt_lock(&t->lock);
    struct sig_action a = t->act[sig];
    if (a.handler > SIGH_IGN && (a.flags & SA_FL_RESETHAND)) {
        t->act[sig].handler = SIGH_DFL;
        install(sig, &t->act[sig]);
    }
    rt_unlock(&t->lock);
    return a;
}

void sig_table_set_default(struct tstate *ts, int sig) {
    struct sig_table *t = sig_priv(ts)->table;
    rt_lock(&t->lock);
    t->act[sig].handler = SIGH_DFL;
    install(sig, &t->act[sig]);
    rt_unlock(&t->lock);
}

void sig_table_clear_handlers(struct tstate *ts) {
    for (int sig = 1; sig <= SIG_MAX; sig++)
        if (has_action(sig) && sig_table_get(ts, sig).handler != SIGH_IGN) sig_table_set_default(ts, sig);
}

/* exec resets handlers but keeps SIG_IGN; only the signals that have our
 * handler nevertheless need help. */
void sig_table_before_exec(struct tstate *ts) {
    for (int sig = 1; sig <= SIG_MAX; sig++) {
        struct sig_action ign = {.handler = SIGH_IGN};
        if (((SIG_SYNC | told) & SIG_BIT(sig)) && sig_table_get(ts, sig).handler == SIGH_IGN)
            sig_kernel_action(sig, &ign, NULL);
    }
}

void sig_table_after_exec(struct tstate *ts) {
    for (int sig = 1; sig <= SIG_MAX; sig++) {
        struct sig_action a = sig_table_get(ts, sig);
        if (((SIG_SYNC | told) & SIG_BIT(sig)) && has_action(sig)) install(sig, &a);
    }
}

/* ---- system calls ---------------------------------------------------------------- */

static void warn(struct tstate *ts, int sig, bool sets) {
    const char *name = sig == SIG_KILL ? "SIGKILL" : "SIGSTOP";
    if (sig < 1 || sig > SIG_MAX)
        rt_warn(ts, "Warning: bad signal number %d in sigaction()", sig);
    else if (sets)
        rt_warn(ts,
                "Warning: ignored attempt to set %s handler in sigaction();\n"
                "         the %s signal is uncatchable",
                name, name);
}

static long bad_address(struct tstate *ts, const char *which, u64 addr) {
    if (rt.chan->verbosity) rt_note(ts, "Warning: bad %s handler address 0x%lx in rt_sigaction()", which, addr);
    return -EFAULT;
}

/* With -q, too: a debug line, as of Valgrind's. */
static long bad_set(struct tstate *ts, const char *which, u64 addr) {
    rt_say(ts, IP_SAY_DEBUG, "Warning: Bad %s address 0x%lX in sigprocmask", which, addr);
    return -EFAULT;
}

long rt_sys_rt_sigaction(struct tstate *ts) {
    int sig = (int)ts->gpr[IP_RDI];
    u64 act = ts->gpr[IP_RSI], oact = ts->gpr[IP_RDX];
    struct sig_action new_act = {0}, old_act;
    struct sig_table *t = sig_priv(ts)->table;

    if (ts->gpr[IP_R10] != 8) return -EINVAL;
    if (act && rt_copy_from(&new_act, act, sizeof new_act) != 0) return bad_address(ts, "act", act);
    if (sig < 1 || sig > SIG_MAX || (act && !has_action(sig))) {
        if (rt_tells_misuse()) warn(ts, sig, act && new_act.handler != SIGH_DFL);
        return -EINVAL;
    }
    sig_show_action(ts, sig, act, oact, new_act.flags);
    new_act.mask &= ~SIG_UNBLOCKABLE;
    new_act.flags &= SA_FL_KNOWN;
    rt_lock(&t->lock);
    old_act = t->act[sig];
    if (act) {
        struct sig_action real = {.handler = new_act.handler};
        t->act[sig] = new_act;
        /* Setting "ignore" discards, sigaction(2). */
        if ((told & SIG_BIT(sig)) && is_real(sig, &new_act) && sig_is_ignored(ts, sig))
            sig_kernel_action(sig, &real, NULL);
        install(sig, &new_act);
    }
    rt_unlock(&t->lock);
    if (act && new_act.handler > SIGH_IGN && (new_act.flags & SA_FL_SIGINFO)) {
        if (sig == SIG_TRAP) rt_exact(ts);      /* it steps, and sees the state at each */
        if (sig == SIG_SEGV) rt_note_jumps(ts); /* it sees where one to no address was */
    }
    if (act && (SIG_BIT(sig) & SIG_SYNC) && new_act.handler == SIGH_IGN)
        sig_priv(ts)->vpend &= ~SIG_BIT(sig); /* setting "ignore" discards, sigaction(2) */
    if (oact && rt_copy_to(oact, &old_act, sizeof old_act) != 0) return bad_address(ts, "oldact", oact);
    return 0;
}

long rt_sys_rt_sigprocmask(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    long how = (int)ts->gpr[IP_RDI];
    u64 set = ts->gpr[IP_RSI], oset = ts->gpr[IP_RDX], old = th->sigmask, want;

    if (ts->gpr[IP_R10] != 8) return -EINVAL;
    if (set) {
        if (rt_copy_from(&want, set, 8) != 0) return bad_set(ts, "set handler", set);
        sig_show_mask(ts, how, set, want);
        want &= ~SIG_UNBLOCKABLE;
        if (how == 0)
            want |= old;
        else if (how == 1)
            want = old & ~want;
        else if (how != 2)
            return -EINVAL;
        /* Through the interruptible window: a signal that came before the
         * change must be delivered before it. */
        bool aside = sig_priv(ts)->vpend & ~want; /* goes first */
        u64 kernel = aside ? SIG_BLOCK_ALL : want & ~SIG_SYNC;
        u64 args[6] = {2 /* SIG_SETMASK */, (u64)&kernel, 0, 8, 0, 0};
        long r = rt_kernel(th, __NR_rt_sigprocmask, args);
        if (r != 0) return r;
        th->sigmask = want;
        if (aside) th->pending = 1; /* have it delivered on the way back */
    }
    if (oset && rt_copy_to(oset, &old, 8) != 0) return bad_set(ts, "oldset", oset);
    return 0;
}

long rt_sys_rt_sigpending(struct tstate *ts) {
    u64 pending = 0, size = ts->gpr[IP_RSI];
    if (size > 8) return -EINVAL;
    long r = sys2(__NR_rt_sigpending, (long)&pending, 8);
    if (r != 0) return r;
    pending |= sig_priv(ts)->vpend & rt_th(ts)->sigmask;
    return rt_copy_to(ts->gpr[IP_RDI], &pending, size);
}

bool sig_on_altstack(const struct rt_thread *th, u64 sp) {
    if (th->altstack_flags & SS_FL_AUTODISARM) return false;
    return sp > th->altstack_sp && sp - th->altstack_sp <= th->altstack_size;
}

long sig_host_altstack(struct rt_thread *th, u64 size) {
    struct sig_stack host = {.sp = th->sigstack_base, .size = size};
    return sys2(__NR_sigaltstack, (long)&host, 0);
}

/* Where frames may grow, the kernel takes no stack that is too small for one, by a measure of its own. */
static bool altstack_suffices(struct rt_thread *th, u64 size) {
    if (size < 2048 /* MINSIGSTKSZ */) return false;
    if (!sig_xstate_grows() || size >= th->sigstack_size) return true;
    sig_block_everything();
    long r = sig_host_altstack(th, size);
    sig_host_altstack(th, th->sigstack_size);
    sig_unblock_everything(th);
    return r == 0;
}

long rt_sys_sigaltstack(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    u64 set = ts->gpr[IP_RDI], old = ts->gpr[IP_RSI], sp = ts->gpr[IP_RSP];
    struct sig_stack ss = {0}, oss = {0};

    if (set && rt_copy_from(&ss, set, sizeof ss) != 0) return -EFAULT;
    oss.sp = th->altstack_sp;
    oss.size = th->altstack_size;
    oss.flags = th->altstack_flags & SS_FL_AUTODISARM;
    if (th->altstack_size == 0)
        oss.flags |= SS_FL_DISABLE;
    else if (sig_on_altstack(th, sp))
        oss.flags |= SS_FL_ONSTACK;
    if (set) {
        u32 mode = ss.flags & ~SS_FL_AUTODISARM;
        if (sig_on_altstack(th, sp)) return -EPERM;
        if (mode != SS_FL_DISABLE && mode != SS_FL_ONSTACK && mode != 0) return -EINVAL;
        if (mode == SS_FL_DISABLE)
            ss.size = ss.sp = 0;
        else if (!altstack_suffices(th, ss.size))
            return -ENOMEM;
        th->altstack_sp = ss.sp;
        th->altstack_size = ss.size;
        th->altstack_flags = ss.flags;
    }
    if (old && rt_copy_to(old, &oss, sizeof oss) != 0) return -EFAULT;
    return 0;
}
