/* The guest's own restriction of its system calls (seccomp(2)).
 *
 * Filters are judged here, with the guest's numbers, arguments and program
 * counter, before a call is looked at in any other way.  The kernel gets each
 * filter too, behind a prefix that lets the runtime's own calls pass: so it
 * checks the program and the privilege, /proc and PR_GET_SECCOMP are true, and
 * whatever is executed natively is restricted as it should be.  What only the
 * kernel can do, asking a listener or a tracer, it does for calls that are made
 * from rt_asking_kernel, which the prefix does not spare.
 *
 * Strict mode would forbid the runtime everything; it is kept here alone.
 */
#include <asm/unistd.h>
#include <linux/audit.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/seccomp.h>

#include "runtime/processes/processes.h"
#include "runtime/signals/signals.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/procfs/procfs.h"
#include "runtime/syscalls/seccomp.h"
#include "runtime/signals/sig.h"
#include "runtime/syscalls/syscall.h"
#include "runtime/ptrace/ptrace.h"

#define MAX_INSNS        4096 /* BPF_MAXINSNS */
#define PREFIX           8
#define SYS_SECCOMP_CODE 1
#define MAX_ERRNO        4095
#define KILLABLE_RECV    0x20 /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19 */
#define SAVED_KILLABLE   (1ul << 32)

struct filter { /* never changed once it is linked, never freed */
    struct filter *prev;
    u32 len, killable; /* its listener, once it has a call, lets only fatal signals interrupt */
    struct bpf_insn prog[];
};

static rt_lock_t installing;

void seccomp_lock(bool lock) {
    if (lock)
        rt_lock(&installing);
    else
        rt_unlock(&installing);
}

void seccomp_inherit(struct tstate *parent, struct tstate *child) {
    rt_th(child)->filters = rt_th(parent)->filters;
    rt_th(child)->strict = rt_th(parent)->strict;
}

/* ---- judging --------------------------------------------------------------------------- */

/* The lower the signed action, the stronger; the newest filter first among equals. */
static u32 judge(const struct filter *f, const struct seccomp_call *call) {
    u32 verdict = SECCOMP_RET_ALLOW;
    for (; f != NULL; f = f->prev) {
        u32 v = bpf_run(f->prog, f->len, call);
        if ((int)(v & SECCOMP_RET_ACTION_FULL) < (int)(verdict & SECCOMP_RET_ACTION_FULL)) verdict = v;
    }
    return verdict;
}

/* As the kernel's do_exit: this thread alone, the process if it was the last. */
static long end_thread(struct tstate *ts, int sig, u64 addr) {
    if (thread_is_last(ts) || rt_th(ts)->vfork_child) rt_die_by_signal(ts, sig, SYS_SECCOMP_CODE, addr);
    ts->gpr[IP_RDI] = (u64)sig;
    return rt_sys_exit(ts);
}

/* May the kernel carry the call out as the guest gave it? */
static bool plain(const struct rt_syscall_info *info) {
    return info == NULL || info->handler == NULL || info->handler == rt_sys_open || info->handler == rt_sys_openat ||
           info->handler == rt_sys_openat2 || info->handler == rt_sys_path0 || info->handler == rt_sys_path1 ||
           info->handler == rt_sys_readlink || info->handler == rt_sys_readlinkat || info->handler == rt_sys_fstatat ||
           info->handler == rt_sys_statx;
}

static void tell_not_asked(struct tstate *ts, const char *name) {
    static u32 told;
    if (__atomic_fetch_add(&told, 1, __ATOMIC_RELAXED) == 0)
        rt_note(ts,
                "the program's system-call filter wants '%s' decided by another process; interpose answers that "
                "call itself and goes on without asking",
                name);
}

/* There is one listener at most. */
static bool waits_killably(const struct filter *f) {
    while (f != NULL && !f->killable) f = f->prev;
    return f != NULL;
}

static long asking(struct tstate *ts, u32 action, long nr, const u64 args[6]) {
    bool killable = action == SECCOMP_RET_USER_NOTIF && waits_killably(rt_th(ts)->filters);
    if (killable) sig_table_killable(ts, true);
    long r = rt_asking_kernel(rt_th(ts), nr, args);
    if (killable) sig_table_killable(ts, false);
    return r;
}

/* A listener or a tracer decides, and the kernel knows it. */
static bool ask(struct tstate *ts, u32 action, long nr, const u64 args[6], enum seccomp_abi abi, long *result) {
    const struct rt_syscall_info *info = abi == SECCOMP_64 ? rt_syscall_info(nr) : NULL;
    bool nobody = action == SECCOMP_RET_TRACE && process_tracer() == 0;
    if (abi == SECCOMP_64 && (plain(info) || nobody)) {
        *result = asking(ts, action, nr, args);
        return false;
    }
    if (abi == SECCOMP_64 && nr == __NR_dup) { /* one of ours is asked about as what it is for the guest */
        const u64 closed[6] = {(u64)-1, args[1], args[2], args[3], args[4], args[5]};
        *result = asking(ts, action, nr, rt_fd_is_ours((int)args[0]) ? closed : args);
        if (*result >= 0) rt_proc_copied((int)args[0], (int)*result);
        return false;
    }
    *result = -ENOSYS;
    if (nobody) return false;
    tell_not_asked(ts, info ? info->name : "int 0x80");
    return true;
}

/* A tracer that is translated, too, decides about every call.  The filters see what has become of it. */
static bool ask_ours(struct tstate *ts, u32 data, u64 next_pc, long *result) {
    struct rt_trace *t = rt_trace(ts);
    u64 args[6];
    if (t->asked) return true;
    if (!traced_seccomp(ts, data, next_pc, result)) return false;
    rt_syscall_args(ts, args);
    t->asked = 1;
    bool proceeds = rt_seccomp(ts, (int)ts->gpr[IP_RAX], args, next_pc, SECCOMP_64, result);
    t->asked = 0;
    return proceeds;
}

static bool strict(struct tstate *ts, long nr, u64 next_pc, enum seccomp_abi abi, long *result) {
    static const u16 allowed[2][4] = {
        [SECCOMP_64] = {__NR_read, __NR_write, __NR_exit, __NR_rt_sigreturn},
        [SECCOMP_32] = {3, 4, 1, 119}, /* the same of i386, but sigreturn */
    };
    for (u32 i = 0; i < 4; i++)
        if (nr == allowed[abi][i]) return true;
    *result = end_thread(ts, SIG_KILL, next_pc);
    return false;
}

static u32 audit_arch(enum seccomp_abi abi) { return abi == SECCOMP_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_I386; }

void seccomp_signal(struct tstate *ts, int code, long nr, int error, u64 next_pc, enum seccomp_abi abi) {
    if (abi == SECCOMP_64) {
        ts->gpr[IP_RCX] = next_pc;
        ts->gpr[IP_R11] = ts->rflags | (rt_th(ts)->trap_flag ? FL_TF : 0);
    }
    ts->pc = next_pc;
    rt_signal_sys(ts, code, (int)nr, error, audit_arch(abi), next_pc & IP_KEY_PC);
}

bool rt_seccomp(struct tstate *ts, long nr, const u64 args[6], u64 next_pc, enum seccomp_abi abi, long *result) {
    struct rt_thread *th = rt_th(ts);
    if (th->strict) return strict(ts, nr, next_pc, abi, result);
    struct seccomp_call call = {.nr = (u32)nr, .arch = audit_arch(abi), .ip = next_pc & IP_KEY_PC};
    memcpy(call.args, args, sizeof call.args);
    u32 verdict = judge(th->filters, &call), data = verdict & SECCOMP_RET_DATA;
    u32 action = verdict & SECCOMP_RET_ACTION_FULL;
    switch (action) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG: return true;
    case SECCOMP_RET_ERRNO: *result = -(long)(data > MAX_ERRNO ? MAX_ERRNO : data); return false;
    case SECCOMP_RET_TRAP:
        seccomp_signal(ts, SYS_SECCOMP_CODE, nr, (int)data, next_pc, abi);
        *result = RT_NO_RESULT;
        return false;
    case SECCOMP_RET_TRACE:
        if (rt_trace(ts)->on && abi == SECCOMP_64) return ask_ours(ts, data, next_pc, result);
        return ask(ts, action, nr, args, abi, result);
    case SECCOMP_RET_USER_NOTIF: return ask(ts, action, nr, args, abi, result);
    case SECCOMP_RET_KILL_THREAD: *result = end_thread(ts, SIG_SYS, call.ip); return false;
    default: /* SECCOMP_RET_KILL_PROCESS, and what is unknown */
        rt_die_by_signal(ts, SIG_SYS, SYS_SECCOMP_CODE, call.ip);
    }
}

/* ---- installing -------------------------------------------------------------------------- */

#define STMT(c, v)       ((struct bpf_insn){(c), 0, 0, (v)})
#define JUMP(c, v, t, f) ((struct bpf_insn){(c), (t), (f), (v)})
enum { LOAD = 0x20, LOAD_NUMBER = 0x00, JEQ = 0x15, JGE = 0x35, RETURN = 0x06 };

/* Calls from the runtime, rt_asking_kernel aside, are allowed; A is 0 for the rest. */
static void put_prefix(struct bpf_insn *p) {
    p[0] = STMT(LOAD, offsetof(struct seccomp_call, ip) + 4);
    p[1] = JUMP(JEQ, 0, 0, 5);
    p[2] = STMT(LOAD, offsetof(struct seccomp_call, ip));
    p[3] = JUMP(JGE, IP_RT_BASE, 0, 3);
    p[4] = JUMP(JGE, IP_LEFT_LO, 2, 0);
    p[5] = JUMP(JEQ, (u32)(u64)rt_asking_insn + 2, 1, 0);
    p[6] = STMT(RETURN, SECCOMP_RET_ALLOW);
    p[7] = STMT(LOAD_NUMBER, 0);
}

static void link_filter(struct tstate *ts, struct filter *f, bool all_threads) {
    struct rt_thread *th = rt_th(ts);
    f->prev = th->filters;
    th->filters = f;
    for (u32 i = 0; all_threads && i < thread_count(); i++) {
        struct rt_thread *t = rt_th(rt_thread_by_index(i));
        if (t->in_use == TH_LIVE && t->pid == th->pid) __atomic_store_n(&t->filters, f, __ATOMIC_RELEASE);
    }
}

/* call: the guest's own, for the kernel to say what is wrong with it. */
static long install(struct tstate *ts, u64 flags, u64 prog_at, long nr, const u64 call[3]) {
    struct {
        u64 len, at;
    } prog; /* struct sock_fprog; len has 16 bits */
    if (rt_copy_from(&prog, prog_at, sizeof prog) != 0 || (prog.len &= 0xffff) == 0 || prog.len > MAX_INSNS)
        return sys3(nr, (long)call[0], (long)call[1], (long)call[2]);
    u64 bytes = prog.len * sizeof(struct bpf_insn), room = (PREFIX + prog.len) * sizeof(struct bpf_insn);
    struct bpf_insn *kernel = rt_pages(room);
    if (rt_copy_from(kernel + PREFIX, prog.at, bytes) != 0) {
        rt_free_pages(kernel, room);
        return sys3(nr, (long)call[0], (long)call[1], (long)call[2]);
    }
    put_prefix(kernel);
    struct filter *f = rt_pages(sizeof *f + bytes);
    f->len = (u32)prog.len;
    f->killable = (flags & KILLABLE_RECV) != 0;
    memcpy(f->prog, kernel + PREFIX, bytes);
    prog.len += PREFIX;
    prog.at = (u64)kernel;
    seccomp_lock(true);
    long r = sys3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, (long)flags, (long)&prog);
    bool done = flags & SECCOMP_FILTER_FLAG_NEW_LISTENER ? r >= 0 : r == 0;
    if (done) link_filter(ts, f, flags & SECCOMP_FILTER_FLAG_TSYNC);
    seccomp_lock(false);
    rt_free_pages(kernel, room);
    if (!done) rt_free_pages(f, sizeof *f + bytes);
    return r;
}

static long set_strict(struct tstate *ts) {
    if (rt_th(ts)->filters) return -EINVAL;
    rt_th(ts)->strict = 1;
    return 0;
}

long seccomp_prctl(struct tstate *ts, u64 mode, u64 prog) {
    u64 call[3] = {22 /* PR_SET_SECCOMP */, mode, prog};
    if (mode == SECCOMP_MODE_STRICT) return set_strict(ts);
    if (mode == SECCOMP_MODE_FILTER) return install(ts, 0, prog, __NR_prctl, call);
    return -EINVAL;
}

long rt_sys_seccomp(struct tstate *ts) {
    u64 op = (u32)ts->gpr[IP_RDI], flags = (u32)ts->gpr[IP_RSI], at = ts->gpr[IP_RDX];
    u64 call[3] = {op, flags, at};
    if (op == SECCOMP_SET_MODE_STRICT) return flags || at ? -EINVAL : set_strict(ts);
    if (op == SECCOMP_SET_MODE_FILTER) return install(ts, flags, at, __NR_seccomp, call);
    return sys3(__NR_seccomp, (long)op, (long)flags, (long)at);
}

/* ---- over an exec of ours ------------------------------------------------------------------ */

/* Oldest first: its length and whether its listener waits killably, its instructions. */
u64 seccomp_saved_size(struct tstate *ts) {
    u64 n = 0;
    for (const struct filter *f = rt_th(ts)->filters; f != NULL; f = f->prev) n += 8 + f->len * sizeof(struct bpf_insn);
    return n;
}

void seccomp_save(struct tstate *ts, void *to) {
    u8 *end = (u8 *)to + seccomp_saved_size(ts);
    for (const struct filter *f = rt_th(ts)->filters; f != NULL; f = f->prev) {
        u64 bytes = f->len * sizeof(struct bpf_insn), head = f->len | (f->killable ? SAVED_KILLABLE : 0);
        end -= 8 + bytes;
        memcpy(end, &head, 8);
        memcpy(end + 8, f->prog, bytes);
    }
}

void seccomp_restore(struct tstate *ts, const void *from, u64 size) {
    for (u64 at = 0; at < size;) {
        u64 head, len;
        memcpy(&head, (const u8 *)from + at, 8);
        len = (u32)head;
        struct filter *f = rt_pages(sizeof *f + len * sizeof(struct bpf_insn));
        f->len = (u32)len;
        f->killable = (head & SAVED_KILLABLE) != 0;
        memcpy(f->prog, (const u8 *)from + at + 8, len * sizeof(struct bpf_insn));
        link_filter(ts, f, false);
        at += 8 + len * sizeof(struct bpf_insn);
    }
}
