/* The threads' side of a debugger in the supervisor (interpose/gdb).
 *
 * A thread stops where the guest's state is whole: in the dispatcher, between two instructions.  It asks the
 * supervisor, which does not answer until it shall go on; the registers are in the slot meanwhile, to be read and
 * changed.  Nothing of it is a stop of the kernel's, so a thread that waits does not hold up a flush or a fork, and
 * when the supervisor is gone it ends like one with any other question.
 *
 * A step is the guest's trap flag (trapflag.c), forced; or, where an instruction does not end in that way (a system
 * call, the entry of a handler), that the pc is another one.
 */
#include "runtime/base/cpu.h"
#include "runtime/core/core.h"
#include "runtime/debug/debug.h"
#include "runtime/hooks.h"
#include "runtime/signals/sig.h"
#include "runtime/ptrace/ptrace.h"

#define TILES       (3ull << 17) /* XSAVE components of AMX, which no debugger is shown */
#define LEGACY      3ull
#define XS_HEADER   512
#define FIXED       0x202ull /* of rflags: always set in user mode */
#define LOADABLE    (IP_FL_ARITH | IP_FL_DF | FL_TF | FL_AC | 0x200000ull /* ID */)
#define NO_CALL     (~0ull)
#define BEGINS      (1ull << 33) /* of debug_born: this thread itself */
#define MOST_PUSHED 65536u       /* beyond, it is another stack */

_Static_assert((offsetof(struct ip_slot, data) + offsetof(struct ip_debug_state, xsave)) % 64 == 0,
               "XSAVE's alignment");
_Static_assert(sizeof(struct ip_debug_state) <= IP_SLOT_DATA, "the slot's data");

static void disarm(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    if (th->debug_forced) th->trap_flag = th->debug_own_flag;
    th->debug_forced = 0;
}

static void arm(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    th->debug_done = 0;
    th->debug_pc = rt_pc(ts->pc);
    if (th->trap_flag) return;
    th->debug_own_flag = 0;
    th->debug_forced = th->trap_flag = 1;
    sig_priv(ts)->step_armed = 0;
}

/* ---- the state ------------------------------------------------------------------------------- */

static u64 shown_components(void) { return sig_xfeatures() & ~TILES; }

void debug_show_vectors(struct ip_debug_state *d) {
    const struct rt_cpu *cpu = rt_cpu();
    u64 components = shown_components();
    u32 size = XS_HEADER + 64;
    for (u32 i = 2; i < IP_DBG_COMPONENTS && i < RT_CPU_STATES; i++) {
        if (!(components >> i & 1)) continue;
        u32 end = cpu->state[i].offset + cpu->state[i].size;
        if (end > IP_DBG_XSAVE)
            components &= ~(1ull << i); /* of a CPU to come */
        else if (end > size)
            size = end;
        d->at[i] = components >> i & 1 ? cpu->state[i].offset : 0;
    }
    memset(d->xsave, 0, size);
    sig_xsave(d->xsave, components);
    rt_x87_image(d->xsave);
    d->components = components ? components : LEGACY;
    d->xsave_size = size;
}

static void show(struct tstate *ts, struct ip_debug_state *d, u64 pc, u64 call) {
    memset(d, 0, offsetof(struct ip_debug_state, xsave));
    memcpy(d->gpr, ts->gpr, sizeof d->gpr);
    d->pc = pc;
    d->rflags = (ts->rflags & ~FL_TF) | FIXED | (rt_th(ts)->trap_flag ? FL_TF : 0);
    d->fs_base = ts->client_fs, d->gs_base = ts->client_gs;
    d->orig_rax = call;
    d->origins = rt_th(ts)->origin_tags;
    u16 sel;
    d->selectors[0] = rt_cs();
    d->selectors[1] = rt_ss(ts);
    __asm__("mov %%ds, %0" : "=r"(sel));
    d->selectors[2] = sel;
    __asm__("mov %%es, %0" : "=r"(sel));
    d->selectors[3] = sel;
    d->selectors[4] = ts->client_sel[0], d->selectors[5] = ts->client_sel[1];
    debug_show_vectors(d);
}

/* What a debugger sets is defined; of registers, it has said so in the V bits itself (interpose/gdb/shadow.py). */
static void stack_set(struct tstate *ts, u64 old_sp) {
    if (!(rt.flags & IP_C_SHADOW)) return;
    u64 sp = ts->gpr[IP_RSP];
    if (sp > old_sp) { /* after a call of the debugger's, to a function that may use its red zone */
        rt_hook_stack_restored(ts, old_sp, sp);
    } else if (sp < old_sp) {
        rt_hook_stack_loaded(ts, old_sp, sp);
        /* What a debugger has put there, before it made room for it: arguments, a return address. */
        if (old_sp - sp <= MOST_PUSHED) rt_hook_written(sp, old_sp - sp);
    }
}

static void take(struct tstate *ts, const struct ip_debug_state *d) {
    struct rt_thread *th = rt_th(ts);
    u64 changed = d->changed, old_sp = ts->gpr[IP_RSP];
    if (!changed) return;
    for (u32 i = 0; i < 16; i++)
        if (changed >> i & 1) ts->gpr[i] = d->gpr[i];
    if (changed >> IP_DBG_CHANGED_PC & 1) ts->pc = rt_key(d->pc);
    if (changed >> IP_DBG_CHANGED_FLAGS & 1) {
        ts->rflags = (ts->rflags & ~(LOADABLE | FL_TF)) | (d->rflags & LOADABLE & ~FL_TF);
        th->trap_flag = (d->rflags & FL_TF) != 0;
        rt_exact(ts);
    }
    if (changed >> IP_DBG_CHANGED_BASES & 1) ts->client_fs = d->fs_base, ts->client_gs = d->gs_base;
    if (changed >> IP_DBG_CHANGED_XSAVE & 1) sig_xrstor(d->xsave, sig_xfeatures() ? d->components : 0);
    stack_set(ts, old_sp);
}

/* ---- stops ------------------------------------------------------------------------------------ */

/* Until the supervisor answers.  pc: where the thread is shown to be.  Returns the signal that it is to get. */
static int wait_at(struct tstate *ts, u32 why, u64 detail, struct sig_info *info, u64 pc, u64 call) {
    struct rt_thread *th = rt_th(ts);
    struct ip_slot *s = rt_slot(ts);
    struct ip_debug_state *d = (struct ip_debug_state *)(void *)s->data;
    disarm(ts);
    th->debug_step = th->debug_turn = 0;
    th->debug_hit = 0;
    th->debug_sent = 0;
    th->debug_passes = 0;
    th->debug_aside[0] = 0;
    show(ts, d, pc, call);
    if (info) memcpy(d->siginfo, info, sizeof *info);
    s->a[0] = why;
    s->a[1] = detail;
    s->len = sizeof *d;
    rt_request_python(ts, IP_R_DEBUG);
    u32 go = (u32)s->r[0];
    int sig = (int)s->r[1];
    u64 range[2] = {s->r[2], s->r[3]};
    if (info) memcpy(info, d->siginfo, sizeof *info);
    take(ts, d);
    sig_table_tell(ts);
    th->debug_past = go == IP_DBG_GO_PAST && why == IP_DBG_BREAK ? rt_pc(ts->pc) : 0;
    if (go == IP_DBG_GO_STEP || go == IP_DBG_GO_RANGE) {
        th->debug_step = 1;
        th->debug_range[0] = go == IP_DBG_GO_RANGE ? range[0] : 0;
        th->debug_range[1] = go == IP_DBG_GO_RANGE ? range[1] : 0;
        th->debug_done = 0;
        th->debug_pc = rt_pc(ts->pc);
    }
    return sig > 0 && sig <= SIG_MAX ? sig : 0;
}

/* The same where it has met no signal: one that it is to get is sent to it. */
static void wait_and_send(struct tstate *ts, u32 why, u64 detail, u64 pc, u64 call) {
    struct rt_thread *th = rt_th(ts);
    int sig = wait_at(ts, why, detail, NULL, pc, call);
    if (!sig) return;
    th->debug_sent = (u64)sig;
    sys3(__NR_tgkill, th->pid, th->tid, sig);
}

static void wait_here(struct tstate *ts, u32 why, u64 detail) {
    wait_and_send(ts, why, detail, rt_pc(ts->pc), NO_CALL);
}

bool rt_debug_boundary(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    if (!debug_is_followed(ts)) return false;
    u64 pc = rt_pc(ts->pc);
    if (th->debug_born & BEGINS) {
        th->debug_born = 0;
        wait_here(ts, IP_DBG_CREATED, 0);
        return true;
    }
    bool moved = th->debug_done || pc != th->debug_pc;
    if (th->debug_hit && moved) {
        wait_here(ts, IP_DBG_WATCHED, th->debug_hit);
        return true;
    }
    if (th->debug_step && moved && !(pc >= th->debug_range[0] && pc < th->debug_range[1])) {
        wait_here(ts, IP_DBG_STEPPED, 0);
        return true;
    }
    if (rt.chan->debug & IP_DBG_STOP) {
        wait_here(ts, IP_DBG_HELD, 0);
        return true;
    }
    if (th->debug_turn && moved) {
        th->debug_turn = 0;
        if (!th->debug_step) disarm(ts);
    }
    if (th->debug_step || th->debug_hit || th->debug_turn) arm(ts);
    return false;
}

void rt_debug_break(struct tstate *ts) {
    if (rt_debugged() && debug_is_followed(ts))
        wait_here(ts, IP_DBG_BREAK, 0);
    else
        rt_th(ts)->debug_past = rt_pc(ts->pc);
}

bool rt_debug_stepped(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    if (!th->debug_forced) return false;
    /* What the instruction itself has loaded is the program's. */
    th->debug_past = 0;
    th->debug_own_flag = rt_trap_flag_was_loaded(ts) && th->trap_flag;
    th->debug_done = 1;
    return true;
}

bool rt_debug_minds(struct tstate *ts, int sig) {
    u32 on = rt.chan->debug;
    /* Without a debugger, who is to stop waits with what has come just before: it may end the waiting. */
    bool asked = on & IP_DBG_ON ? !(rt.chan->debug_passed & SIG_BIT(sig)) : (on & IP_DBG_STOP) != 0;
    return asked && debug_is_followed(ts);
}

int rt_debug_signal(struct tstate *ts, struct sig_info *info) {
    int sig = info->signo;
    disarm(ts); /* no frame shows it */
    if (rt_th(ts)->debug_sent == (u64)sig) {
        rt_th(ts)->debug_sent = 0;
        return sig;
    }
    rt_th(ts)->debug_passes = 0;
    if (!rt_debug_minds(ts, sig)) {
        rt_th(ts)->debug_passes = rt_th(ts)->debug_step;
        return sig;
    }
    int now = wait_at(ts, IP_DBG_SIGNAL, (u64)sig, info, rt_pc(ts->pc), NO_CALL);
    if (now && now != info->signo) *info = (struct sig_info){.signo = now, .code = SIC_USER};
    return now;
}

void rt_debug_broke(struct tstate *ts, long nr, long result, u64 next_pc) {
    struct rt_thread *th = rt_th(ts);
    th->debug_broke = 0;
    if (result != -EINTR || nr == __NR_close) return; /* what is closed is, all the same */
    th->debug_broken.pc = rt_pc(ts->pc);
    th->debug_broken.rax = ts->gpr[IP_RAX];
    th->debug_broken.next = rt_pc(next_pc);
}

static void forget_broken(struct rt_thread *th) {
    if (!th->debug_broken.pc) return;
    th->debug_broken.pc = 0;
    th->debug_wait.nr = th->debug_wait.length = 0;
}

void rt_debug_handles(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    if (th->debug_passes) { /* the debugger does not hear of the signal: its step is none into the handler */
        th->debug_passes = th->debug_step = 0;
        th->debug_aside[0] = rt_pc(ts->pc), th->debug_aside[1] = ts->gpr[IP_RSP];
    }
    forget_broken(th);
}

void rt_debug_returned(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    if (th->debug_aside[0] != rt_pc(ts->pc) || th->debug_aside[1] != ts->gpr[IP_RSP]) return;
    th->debug_aside[0] = 0;
    th->debug_step = 1;
}

void rt_debug_unbreak(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    if (rt_pc(ts->pc) != th->debug_broken.next || ts->gpr[IP_RAX] != (u64)-EINTR) {
        forget_broken(th); /* a debugger has taken it elsewhere */
        return;
    }
    ts->pc = rt_key(th->debug_broken.pc);
    ts->gpr[IP_RAX] = th->debug_broken.rax;
    th->debug_broken.pc = 0;
}

static bool is_caught(long nr) {
    return (rt.chan->debug & IP_DBG_CATCH) && nr >= 0 && nr < 512 && (rt.chan->debug_calls[nr / 64] >> (nr % 64) & 1);
}

void rt_debug_call(struct tstate *ts, u64 next_pc) {
    struct rt_thread *th = rt_th(ts);
    long nr = (int)ts->gpr[IP_RAX];
    if (!debug_is_followed(ts) || th->debug_in_call || !is_caught(nr)) return;
    u64 pc = ts->pc, rax = ts->gpr[IP_RAX];
    th->debug_in_call = 1;
    ts->gpr[IP_RAX] = (u64)-ENOSYS; /* as the kernel shows a call that has not been made */
    wait_and_send(ts, IP_DBG_ENTRY, (u64)nr, next_pc, rax);
    if (ts->gpr[IP_RAX] == (u64)-ENOSYS) ts->gpr[IP_RAX] = rax;
    if (rt_pc(ts->pc) != rt_pc(pc)) th->debug_in_call = 0;
}

void rt_debug_called(struct tstate *ts, u64 nr, u64 pc) {
    struct rt_thread *th = rt_th(ts);
    if (rt_pc(ts->pc) == rt_pc(pc)) return; /* broken off: it begins again */
    bool told = th->debug_in_call;
    th->debug_in_call = 0;
    if (told && debug_is_followed(ts) && is_caught((int)nr)) /* still: a step that gdb asks for ends here, too */
        wait_and_send(ts, IP_DBG_RETURN, (u64)(int)nr, rt_pc(ts->pc), nr);
}

bool rt_debug_follows(struct tstate *ts) { return (rt.chan->debug & IP_DBG_FORKS) && debug_is_followed(ts); }

void rt_debug_child(struct tstate *ts, bool vfork, u64 pid) {
    if ((rt.chan->debug & (vfork ? IP_DBG_VFORKS : IP_DBG_FORKS)) && debug_is_followed(ts))
        rt_th(ts)->debug_born = pid | (u64)vfork << 32;
}

bool rt_debug_tells_of(struct tstate *ts) {
    const struct rt_thread *th = rt_th(ts);
    return (rt.chan->debug & IP_DBG_VFORKS) && !rt.final_calls && th->maker_tid && th->maker_pid == rt.pid;
}

void rt_debug_born(struct tstate *ts) {
    u64 born = rt_th(ts)->debug_born;
    rt_th(ts)->debug_born = 0;
    if (!debug_is_followed(ts) || !(rt.chan->debug & IP_DBG_ON) || born & BEGINS) return;
    wait_here(ts, born >> 32 ? IP_DBG_VFORKED : IP_DBG_FORKED, (u32)born);
    if (born >> 32 && (rt.chan->debug & IP_DBG_VFORKS)) wait_here(ts, IP_DBG_VFORK_DONE, (u32)born);
}

void rt_debug_begins(struct tstate *ts) {
    if ((rt.chan->debug & IP_DBG_THREADS) && debug_is_followed(ts)) rt_th(ts)->debug_born = BEGINS;
}

void rt_debug_exits(struct tstate *ts, int status) {
    if ((rt.chan->debug & IP_DBG_THREADS) && debug_is_followed(ts)) wait_here(ts, IP_DBG_EXITED, (u64)(u32)status);
}

/* What the tracking helper changes of the registers while it computes an instruction's V bits. */
struct rt_debug_vbits {
    u64 gpr[16], umask, k[8], mmx[8];
    u16 fsw;
    u8 flags, vec[2048];
};

static void keep_vbits(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    if (!(rt.flags & IP_C_SHADOW)) return;
    struct rt_debug_vbits *b = th->debug_vbits;
    if (!b) th->debug_vbits = b = rt_pages(sizeof *b);
    memcpy(b->gpr, ts->vgpr, sizeof b->gpr);
    memcpy(b->k, ts->vk, sizeof b->k);
    memcpy(b->mmx, ts->vmmx, sizeof b->mmx);
    memcpy(b->vec, ts->vvec, sizeof b->vec);
    b->umask = ts->umask, b->flags = ts->vflags, b->fsw = ts->vfsw;
}

static void restore_vbits(struct tstate *ts) {
    const struct rt_debug_vbits *b = rt_th(ts)->debug_vbits;
    if (!b) return;
    memcpy(ts->vgpr, b->gpr, sizeof b->gpr);
    memcpy(ts->vk, b->k, sizeof b->k);
    memcpy(ts->vmmx, b->mmx, sizeof b->mmx);
    memcpy(ts->vvec, b->vec, sizeof b->vec);
    ts->umask = b->umask, ts->vflags = b->flags, ts->vfsw = b->fsw;
}

void rt_debug_told(struct tstate *ts, u64 pc, u64 sp) {
    u64 *told = rt_th(ts)->debug_told;
    if (told[0] != pc) keep_vbits(ts); /* else it is the instruction's second error */
    told[0] = pc, told[1] = sp;
}

bool rt_debug_was_told(struct tstate *ts, u64 pc, u64 sp) {
    u64 *told = rt_th(ts)->debug_told;
    bool same = told[0] == pc && told[1] == sp;
    told[0] = 0;
    return same;
}

/* Of an access, nothing of the instruction has happened yet; nor of one whose V bits were computed but the V bits,
 * which are what they were when the error was told: errors come before what an instruction changes. */
bool rt_debug_begins_anew(struct tstate *ts, const struct ip_exit *x) {
    u64 *told = rt_th(ts)->debug_told;
    u32 kind = x->kind_aux & 0xff;
    if ((kind == IP_XS_LOAD || kind == IP_XS_STORE) && (rt.chan->debug & IP_DBG_STOP) && x->key == told[0]) {
        ts->pc = x->key | IP_KEY_TRACK | IP_KEY_NOREDIR;
        return true;
    }
    bool stops = (rt.chan->debug & IP_DBG_STOP) && kind == IP_XS_TRACK && x->key == told[0];
    if (!stops) {
        told[0] = 0;
        return false;
    }
    restore_vbits(ts);
    ts->pc = x->key | IP_KEY_TRACK | IP_KEY_NOREDIR;
    return true;
}

void rt_debug_forked(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    disarm(ts);
    th->debug_step = th->debug_turn = 0;
    th->debug_hit = 0;
    th->debug_in_call = 0;
    th->debug_past = 0;
    th->debug_born = 0;
    th->debug_sent = 0;
    th->debug_broke = th->debug_passes = 0;
    th->debug_broken.pc = th->debug_aside[0] = 0;
}
