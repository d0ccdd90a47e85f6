/* A thread whose tracer is a program of ours, too.
 *
 * The kernel stops it wherever it is; the tracer's runtime shows none of those stops but
 * lets it go on, to a place where the guest's state is whole (tracer_wait.c).  There it
 * says in rt_trace what the guest has met, and stops by a SIGTRAP to itself, which the
 * tracer's runtime shows as that.  The answer comes in rt_trace, too.
 */
#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/hooks.h"
#include "runtime/ptrace/ptrace.h"

#define TRAP_STATUS           SIG_TRAP
#define SYSGOOD               1u /* PTRACE_O_TRACESYSGOOD */
#define TRACESECCOMP          0x80u
#define SECCOMP_STATUS        (SIG_TRAP | 7 << 8) /* PTRACE_EVENT_SECCOMP */
#define ENTRY_MESSAGE         1                   /* PTRACE_EVENTMSG_SYSCALL_ENTRY, _EXIT */
#define EXIT_MESSAGE          2
#define SYSCALL_MARK          0x80
#define TRAP_OF_STEP          1 /* TRAP_BRKPT: a step over a system call, as x86 kernels report it */
#define ERESTARTSYS           512
#define ERESTARTNOINTR        513
#define ERESTARTNOHAND        514
#define ERESTART_RESTARTBLOCK 516
#define NO_CALL               (~0ull)

void traced_init(struct tstate *ts) {
    struct rt_trace *t = rt_trace(ts);
    memset(t, 0, sizeof *t);
    t->magic = RT_TRACE_MAGIC;
    t->orig_rax = NO_CALL;
}

static u32 parent; /* the process that forked this one, translated, too */

void traced_born(bool siblings) {
    tracer_after_fork();
    if (!siblings) parent = (u32)sys0(__NR_getppid);
}

void traced_by_parent(struct tstate *ts) {
    struct rt_trace *t = rt_trace(ts);
    u32 by = (u32)sys0(__NR_getppid);
    rt_exact(ts);
    /* A vfork's child is on its parent's memory. */
    if (!by || (by != parent && !rt_th(ts)->vfork_child)) return;
    t->on = t->met = 1;
    t->options = 0;
    t->tracer = by;
    t->uid = (u32)sys0(__NR_getuid);
}

/* The flag for a tracer's steps is no longer wanted. */
static void disarm(struct tstate *ts) {
    struct rt_trace *t = rt_trace(ts);
    if (t->forced) rt_th(ts)->trap_flag = t->trap_flag;
    t->forced = 0;
}

/* The copy is off, unless the tracer has adopted it, and does not step. */
void traced_fork(struct tstate *ts, bool before) {
    static u32 was, forced;
    struct rt_trace *t = rt_trace(ts);
    if (before) {
        was = t->on, forced = t->forced;
        t->on = 0;
        disarm(ts);
        return;
    }
    t->on |= was;
    if (forced) t->forced = rt_th(ts)->trap_flag = 1;
}

/* The address of the last x87 instruction is one of the guest's. */
static void show_x87(void) {
    u8 image[512] __attribute__((aligned(16)));
    u64 at;
    __asm__ volatile("fxsave64 %0" : "=m"(image));
    memcpy(&at, image + 8, sizeof at);
    if (at - IP_CACHE_BASE >= (u64)IP_CACHE_MAX) return;
    rt_x87_image(image);
    __asm__ volatile("fxrstor64 %0" : : "m"(image));
}

static void set_registers(struct tstate *ts, u64 old_sp) {
    struct rt_trace *t = rt_trace(ts);
    u32 changed = t->changed;
    t->changed = 0;
    if (!changed || !(rt.flags & IP_C_SHADOW)) return;
    for (u32 i = 0; i < 16; i++)
        if (changed >> i & 1) {
            ts->vgpr[i] = 0;
            ts->umask &= ~(1ull << (IP_U_GPR0 + i));
        }
    if (changed >> RT_TRACE_FLAGS & 1) {
        ts->vflags = 0;
        ts->umask &= ~(1ull << IP_U_FLAGS);
    }
    if (ts->gpr[IP_RSP] != old_sp) rt_hook_stack_loaded(ts, old_sp, ts->gpr[IP_RSP]);
}

static void resumed(struct tstate *ts, u64 old_sp) {
    struct rt_trace *t = rt_trace(ts);
    struct sig_priv *p = sig_priv(ts);
    t->kind = RT_STOP_NONE;
    bool step = t->on && t->go == RT_GO_STEP;
    rt_th(ts)->trap_flag = t->trap_flag || step;
    /* As the kernel: what the instruction itself loads is the program's. */
    t->forced = step && !t->trap_flag && !rt_trap_flag_loaded(ts);
    p->step_armed = 0;
    set_registers(ts, old_sp);
    if (t->dirty[1] > t->dirty[0]) {
        u64 lo = t->dirty[0], len = t->dirty[1] - lo;
        t->dirty[0] = t->dirty[1] = 0;
        rt_open_code_pages(ts, lo, len);
        rt_invalidate_written(ts, lo, len);
    }
}

static void begin(struct tstate *ts, u32 kind, u32 status) {
    struct rt_trace *t = rt_trace(ts);
    t->trap_flag = rt_th(ts)->trap_flag && !t->forced;
    t->go = RT_GO;
    t->status = status;
    t->kind = kind;
}

/* Stop here.  Afterwards the kernel blocks what it blocks around a delivery. */
static void stop(struct tstate *ts, u32 kind, u32 status) {
    struct rt_thread *th = rt_th(ts);
    struct rt_trace *t = rt_trace(ts);
    struct sig_info note = {.signo = SIG_TRAP, .code = RT_STOP_CODE};
    u64 sp = ts->gpr[IP_RSP];
    note.rt.pid = (int)th->pid;
    note.rt.value = IP_MAGIC;
    show_x87();
    begin(ts, kind, status);
    sig_kernel_mask(~SIG_BIT(SIG_TRAP));
    t->seq++;
    /* One that is pending already takes the place of ours: again. */
    u32 sent = 0;
    for (; __atomic_load_n(&t->on, __ATOMIC_RELAXED) && __atomic_load_n(&t->ack, __ATOMIC_RELAXED) != t->seq; sent++)
        if (sys4(__NR_rt_tgsigqueueinfo, th->pid, th->tid, SIG_TRAP, (long)&note) != 0) t->on = 0;
    if (t->ack != t->seq && sent > 1)
        t->inject = 0; /* the tracer took the first one, and the signal with it, before it ended */
    t->ack = t->seq;
    sig_kernel_mask(SIG_BLOCK_ALL);
    resumed(ts, sp);
}

void traced_resumed(struct tstate *ts) { resumed(ts, ts->gpr[IP_RSP]); }

static void define(struct tstate *ts, u32 reg) {
    if (rt.flags & IP_C_SHADOW) {
        ts->vgpr[reg] = 0;
        ts->umask &= ~(1ull << (IP_U_GPR0 + reg));
    }
}

/* What syscall leaves in registers, and int $0x80 does not. */
static void show_way_back(struct tstate *ts) {
    if (rt_trace(ts)->i386) return;
    ts->gpr[IP_RCX] = ts->pc;
    ts->gpr[IP_R11] = ts->rflags | (rt_th(ts)->trap_flag ? FL_TF : 0);
    define(ts, IP_RCX), define(ts, IP_R11);
}

/* The call that was broken off as ptrace shows it, before anybody has decided. */
void traced_broken(struct tstate *ts) {
    struct rt_trace *t = rt_trace(ts);
    u32 code = t->restart;
    t->restart = 0;
    if (!code || !t->broken || (ts->pc & IP_KEY_PC) != rt_th(ts)->syscall_restart_pc) return;
    t->broken = 0;
    ts->pc = (ts->pc & IP_KEY_PC) + 2;
    ts->gpr[IP_RAX] = (u64) - (i64)code;
    show_way_back(ts);
}

long traced_break(struct tstate *ts) {
    rt_trace(ts)->restart = ERESTARTSYS;
    return RT_INTERRUPTED;
}

void traced_restart(struct tstate *ts, const struct sig_action *handler) {
    struct rt_trace *t = rt_trace(ts);
    i64 error = (i64)ts->gpr[IP_RAX];
    if (t->orig_rax == NO_CALL || error > -ERESTARTSYS || error < -ERESTART_RESTARTBLOCK) return;
    /* arch/x86/kernel/signal.c, arch_do_signal_or_restart: as signal(7) describes it */
    bool fails = handler && (error == -ERESTARTNOHAND || error == -ERESTART_RESTARTBLOCK ||
                             (error == -ERESTARTSYS && !(handler->flags & SA_FL_RESTART)));
    if (fails) {
        ts->gpr[IP_RAX] = (u64)-EINTR;
    } else {
        ts->gpr[IP_RAX] = error != -ERESTART_RESTARTBLOCK ? t->orig_rax : t->i386 ? 0 : __NR_restart_syscall;
        ts->pc = (ts->pc & IP_KEY_PC) - 2;
    }
    t->orig_rax = NO_CALL;
}

/* The kernel's ptrace_signal: another signal than the one it was is the tracer's own, and
 * one that is blocked waits. */
static int injected(struct tstate *ts, struct sig_info *info) {
    struct rt_trace *t = rt_trace(ts);
    struct rt_thread *th = rt_th(ts);
    int sig = (int)t->inject;
    if (!sig || sig > SIG_MAX) return 0;
    *info = t->info;
    if (info->signo != sig) {
        *info = (struct sig_info){.signo = sig};
        info->rt.pid = (int)t->tracer;
        info->rt.uid = t->uid;
    }
    if (!(th->sigmask & SIG_BIT(sig))) return sig;
    if (SIG_BIT(sig) & SIG_SYNC) {
        sig_priv(ts)->vinfo[sig_sync_index(sig)] = *info;
        sig_priv(ts)->vpend |= SIG_BIT(sig);
    } else {
        sys4(__NR_rt_tgsigqueueinfo, th->pid, th->tid, sig, (long)info);
    }
    return 0;
}

/* It sees the flags wherever it stops us. */
static void meet(struct tstate *ts) {
    struct rt_trace *t = rt_trace(ts);
    if (!t->met) rt_exact(ts);
    t->met = 1;
}

int traced_signal(struct tstate *ts, struct sig_info *info) {
    struct rt_trace *t = rt_trace(ts);
    meet(ts);
    traced_broken(ts);
    t->info = *info;
    t->inject = (u32)info->signo; /* should the tracer end without having seen it */
    stop(ts, RT_STOP_SIGNAL, (u32)info->signo);
    return injected(ts, info);
}

bool traced_wanted(struct tstate *ts, struct sig_info *info) {
    struct rt_trace *t = rt_trace(ts);
    sig_kernel_mask(SIG_BLOCK_ALL);
    meet(ts);
    if (t->wants & RT_WANT_TRAP) {
        t->wants &= ~(u32)RT_WANT_TRAP;
        traced_broken(ts);
        t->inject = 0;
        stop(ts, RT_STOP_TRAP, t->trap_status);
        return false;
    }
    bool stops = t->wants & RT_WANT_STOP;
    t->wants = 0;
    *info = t->stop_info;
    return stops;
}

/* A SIGTRAP that ptrace sends without asking whether it may be delivered. */
static void note(struct tstate *ts, u32 kind, u32 status, int code) {
    struct rt_trace *t = rt_trace(ts);
    t->info = (struct sig_info){.signo = SIG_TRAP, .code = code};
    t->info.rt.pid = (int)rt_th(ts)->tid;
    t->info.rt.uid = (u32)sys0(__NR_getuid);
    t->inject = 0;
    stop(ts, kind, status);
}

void traced_handler(struct tstate *ts) {
    struct rt_trace *t = rt_trace(ts);
    t->forced = 0;
    if (t->on && t->go == RT_GO_STEP) note(ts, RT_STOP_NOTE, TRAP_STATUS, SIG_TRAP);
}

/* What is injected at the stop of a call is sent. */
static void stop_in_call(struct tstate *ts, u32 kind) {
    struct rt_trace *t = rt_trace(ts);
    struct rt_thread *th = rt_th(ts);
    u32 status = TRAP_STATUS | (t->options & SYSGOOD ? SYSCALL_MARK : 0);
    note(ts, kind, status, (int)status);
    if (t->inject) sys3(__NR_tgkill, th->pid, th->tid, (long)t->inject);
    /* A call that need not wait is made although a signal is pending. */
    u64 pending = 0;
    if (kind == RT_STOP_ENTRY) sys2(__NR_rt_sigpending, (long)&pending, sizeof pending);
    t->enters = (pending & ~th->sigmask & SIG_BLOCK_ALL) != 0;
    if (!t->enters) sig_apply_mask(th);
}

/* As the kernel shows a call that has not been made. */
static void show_entry(struct tstate *ts, u64 next_pc) {
    rt_th(ts)->syscall_restart_pc = ts->pc & IP_KEY_PC;
    ts->gpr[IP_RAX] = (u64)-ENOSYS;
    ts->pc = next_pc;
    define(ts, IP_RAX);
    show_way_back(ts);
}

bool traced_entry(struct tstate *ts, u64 *next_pc) {
    struct rt_trace *t = rt_trace(ts);
    u64 pc = ts->pc;
    u32 how = t->go;
    if (how != RT_GO_SYSCALL && how != RT_GO_EMULATE) return true;
    show_entry(ts, *next_pc);
    t->message = ENTRY_MESSAGE;
    stop_in_call(ts, RT_STOP_ENTRY);
    *next_pc = ts->pc;
    t->broken = 0;
    if (how == RT_GO_EMULATE || (int)t->orig_rax == -1) return false;
    ts->pc = pc;
    ts->gpr[IP_RAX] = t->orig_rax;
    return true;
}

bool traced_seccomp(struct tstate *ts, u32 data, u64 next_pc, long *result) {
    struct rt_trace *t = rt_trace(ts);
    u64 pc = ts->pc;
    *result = -ENOSYS;
    if (!(t->options & TRACESECCOMP)) return false;
    show_entry(ts, next_pc);
    t->message = data;
    note(ts, RT_STOP_SECCOMP, SECCOMP_STATUS, SECCOMP_STATUS);
    sig_apply_mask(rt_th(ts));
    *result = RT_NO_RESULT;
    if ((int)t->orig_rax < 0) return false;
    ts->pc = pc;
    ts->gpr[IP_RAX] = t->orig_rax;
    return true;
}

static void ask_for_help(struct tstate *ts) {
    struct rt_trace *t = rt_trace(ts);
    u32 go = t->go;
    t->helped = 1;
    t->inject = 0;
    stop(ts, RT_STOP_HELP, SIG_TRAP);
    t->go = go;
}

/* The way out of the call is the new program's, which nobody but the kernel can stop. */
void traced_exec(struct tstate *ts, bool begins) {
    struct rt_trace *t = rt_trace(ts);
    if (!begins)
        t->helped = 0;
    else if (t->on && t->go == RT_GO_SYSCALL)
        ask_for_help(ts);
}

void traced_enter(struct tstate *ts) {
    if (rt_trace(ts)->enters && rt_trace(ts)->on) ask_for_help(ts);
}

void traced_exit(struct tstate *ts) {
    struct rt_trace *t = rt_trace(ts);
    if (t->enters) { /* no call of the kernel's that could wait */
        t->enters = 0;
        sig_apply_mask(rt_th(ts));
    }
    if (rt.final_calls) /* the program is over */
        t->go = RT_GO;
    if (t->go != RT_GO_STEP) /* any more: the kernel's event was between */
        disarm(ts);
    if (t->go != RT_GO_SYSCALL && t->go != RT_GO_STEP) return;
    if (t->broken && !t->restart) t->restart = ERESTARTNOINTR; /* a signal was there before the kernel began */
    if (t->broken) rt_th(ts)->pending = 1;
    traced_broken(ts);
    if (t->go == RT_GO_SYSCALL) {
        t->message = EXIT_MESSAGE;
        stop_in_call(ts, RT_STOP_EXIT);
        return;
    }
    disarm(ts);
    rt_signal_raise(ts, SIG_TRAP, TRAP_OF_STEP, rt_pc(ts->pc));
}

void rt_trace_no_call(struct tstate *ts) { rt_trace(ts)->orig_rax = NO_CALL; }
