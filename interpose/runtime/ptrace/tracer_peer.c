/* A tracer's view of a tracee that is translated, too: its registers are in its tstate,
 * which FS points to while it runs.  Both run the same runtime, so addresses in it and
 * offsets in its structures are the same here and there.
 */
#include <linux/fcntl.h>
#include <linux/ptrace.h>

#include "runtime/ptrace/ptrace.h"
#include "runtime/seam.h"

#define TS_SELF       offsetof(struct tstate, self)
#define AT_TRACE      (offsetof(struct tstate, runtime_area) + RT_TRACE_OFFSET)
#define AT_THREAD     offsetof(struct tstate, runtime_area)
#define FLAGS_SET     (IP_FL_ARITH | FL_TF | FL_DF | 0x4000 /* NT */ | FL_RF | FL_AC)
#define CALL_BYTES    2
#define GETREGS       12
#define SETREGS       13
#define RESTART_FIRST (-516)
#define RESTART_LAST  (-512)
#define STEPS_MOST    200000u
#define WALL          0x40000000

long peer_ptrace(long request, u32 tid, u64 addr, const void *data) {
    return sys4(__NR_ptrace, request, (long)tid, (long)addr, (long)data);
}

/* ---- memory ------------------------------------------------------------------------- */

struct span {
    u64 base, len;
};

/* By words where process_vm_readv and its like are not allowed. */
long peer_read(u32 tid, u64 at, void *to, u64 len) {
    struct span mine = {(u64)to, len}, theirs = {at, len};
    if (sys6(__NR_process_vm_readv, (long)tid, (long)&mine, 1, (long)&theirs, 1, 0) == (long)len) return 0;
    for (u64 done = 0; done < len;) {
        u64 word, skip = (at + done) & 7, n = 8 - skip < len - done ? 8 - skip : len - done;
        long r = peer_ptrace(PTRACE_PEEKDATA, tid, at + done - skip, &word);
        if (r < 0) return r;
        memcpy((u8 *)to + done, (u8 *)&word + skip, n);
        done += n;
    }
    return 0;
}

long peer_write(u32 tid, u64 at, const void *from, u64 len) {
    struct span mine = {(u64)from, len}, theirs = {at, len};
    if (sys6(__NR_process_vm_writev, (long)tid, (long)&mine, 1, (long)&theirs, 1, 0) == (long)len) return 0;
    for (u64 done = 0; done < len;) {
        u64 word, skip = (at + done) & 7, n = 8 - skip < len - done ? 8 - skip : len - done;
        long r = peer_ptrace(PTRACE_PEEKDATA, tid, at + done - skip, &word);
        memcpy((u8 *)&word + skip, (const u8 *)from + done, n);
        if (r == 0) r = peer_ptrace(PTRACE_POKEDATA, tid, at + done - skip, (const void *)word);
        if (r < 0) return r;
        done += n;
    }
    return 0;
}

void peer_put(struct peer *p, u32 *field, u32 value) {
    u64 at = p->ts + AT_TRACE + (u64)((u8 *)field - (u8 *)&p->t);
    *field = value;
    peer_write(p->tid, at, &value, sizeof value);
}

/* ---- looking -------------------------------------------------------------------------- */

static bool is_tstate(struct peer *p, u64 ts) {
    u64 self;
    if (!ts || peer_read(p->tid, ts + TS_SELF, &self, sizeof self) != 0 || self != ts ||
        peer_read(p->tid, ts + AT_TRACE, &p->t, sizeof p->t) != 0 || p->t.magic != RT_TRACE_MAGIC)
        return false;
    p->ts = ts;
    return true;
}

static u32 kind_of(const struct peer *p, bool has_info, const struct sig_info *info, bool *waits) {
    *waits = false;
    if (!has_info) return p->t.kind == RT_STOP_GROUP ? RT_STOP_GROUP : RT_STOP_ANYWHERE;
    if (info->signo == SIG_TRAP && info->code == RT_STOP_CODE) {
        *waits = p->t.seq != p->t.ack;
        return *waits ? p->t.kind : RT_STOP_NONE;
    }
    u32 event = (u32)info->code >> 8;
    if (info->code > 0 && (info->code & 0x7f) == SIG_TRAP && event && event < PTRACE_EVENT_STOP) return RT_STOP_EVENT;
    if (info->code > 0 && event == PTRACE_EVENT_STOP && p->t.kind == RT_STOP_GROUP) return RT_STOP_GROUP;
    if (info->code > 0 && event == PTRACE_EVENT_STOP && info->signo != SIG_TRAP) return RT_STOP_ANYWHERE;
    return RT_STOP_NONE;
}

long peer_look(u32 tid, struct peer *p) {
    struct sig_info info;
    struct tracee *known = tracer_find(tid, false);
    memset(p, 0, sizeof *p);
    p->tid = tid;
    long r = peer_ptrace(GETREGS, tid, 0, &p->host);
    if (r < 0) return r;
    /* One that dies has the guest's FS already. */
    p->ours = is_tstate(p, p->host.fs_base) || (known && is_tstate(p, known->ts) && p->t.dying);
    if (!p->ours) return 0;
    if (known) known->ts = p->ts;
    bool has_info = peer_ptrace(PTRACE_GETSIGINFO, tid, 0, &info) == 0;
    p->kind = kind_of(p, has_info, &info, &p->waits);
    return 0;
}

/* ---- registers -------------------------------------------------------------------------- */

/* The guest's part of a tstate. */
struct guest {
    u64 gpr[16], rflags, pc;
    u64 between[2];
    u64 client_fs, client_gs;
};
_Static_assert(offsetof(struct guest, client_fs) == offsetof(struct tstate, client_fs), "struct guest");
_Static_assert(offsetof(struct guest, pc) == offsetof(struct tstate, pc), "struct guest");

#define GPRS(M)                                                                                                        \
    M(ax, IP_RAX)                                                                                                      \
    M(cx, IP_RCX)                                                                                                      \
    M(dx, IP_RDX) M(bx, IP_RBX) M(sp, IP_RSP) M(bp, IP_RBP) M(si, IP_RSI) M(di, IP_RDI) M(r8, IP_R8) M(r9, IP_R9)      \
        M(r10, IP_R10) M(r11, IP_R11) M(r12, IP_R12) M(r13, IP_R13) M(r14, IP_R14) M(r15, IP_R15)

static bool in_kernel(const struct peer *p) { return p->kind == RT_STOP_EVENT && p->t.in_call; }

void peer_get_regs(const struct peer *p, struct user_regs *r) {
    struct guest g = {0};
    u16 sel[2] = {0};
    *r = p->host; /* the segments */
    peer_read(p->tid, p->ts, &g, sizeof g);
    peer_read(p->tid, p->ts + offsetof(struct tstate, client_sel), sel, sizeof sel);
#define GET(field, i) r->field = g.gpr[i];
    GPRS(GET)
#undef GET
    r->ip = rt_pc(g.pc);
    r->flags = g.rflags | (p->t.trap_flag ? FL_TF : 0);
    r->orig_ax = p->t.orig_rax;
    r->fs_base = g.client_fs, r->gs_base = g.client_gs;
    r->fs = sel[0], r->gs = sel[1];
    if (in_kernel(p)) {
        r->ip = r->cx = r->ip + CALL_BYTES;
        r->ax = (u64)-ENOSYS;
        r->r11 = r->flags;
    }
}

static bool bad_selector(u64 value, bool zero) { return value > 0xffff || (value ? (value & 3) != 3 : !zero); }

long peer_set_regs(struct peer *p, const struct user_regs *r) {
    struct user_regs now;
    struct guest g = {0};
    u32 changed = p->t.changed;
    u16 sel[2] = {(u16)r->fs, (u16)r->gs};
    peer_get_regs(p, &now);
    if (r->fs_base >= rt_task_end || r->gs_base >= rt_task_end || bad_selector(r->cs, false) || bad_selector(r->ss, false) ||
        bad_selector(r->ds, true) || bad_selector(r->es, true) || bad_selector(r->fs, true) ||
        bad_selector(r->gs, true))
        return -EIO;
    long e = peer_read(p->tid, p->ts, &g, sizeof g);
    if (e != 0) return e;
#define SET(field, i)                                                                                                  \
    if (r->field != now.field) g.gpr[i] = r->field, changed |= 1u << (i);
    GPRS(SET)
#undef SET
    u64 flags = (now.flags & ~(u64)FLAGS_SET) | (r->flags & FLAGS_SET);
    if (flags != now.flags) changed |= 1u << RT_TRACE_FLAGS;
    g.rflags = flags & ~FL_TF;
    if (r->ip != now.ip) g.pc = rt_key(r->ip);
    g.client_fs = r->fs_base, g.client_gs = r->gs_base;
    peer_write(p->tid, p->ts, &g, sizeof g.gpr + 16);
    peer_write(p->tid, p->ts + offsetof(struct tstate, client_fs), &g.client_fs, 16);
    if (r->fs != now.fs || r->gs != now.gs)
        peer_write(p->tid, p->ts + offsetof(struct tstate, client_sel), sel, sizeof sel);
    p->t.orig_rax = r->orig_ax;
    peer_write(p->tid, p->ts + AT_TRACE + offsetof(struct rt_trace, orig_rax), &r->orig_ax, 8);
    peer_put(p, &p->t.trap_flag, (flags & FL_TF) != 0);
    peer_put(p, &p->t.changed, changed);
    return 0;
}

/* ---- on the way --------------------------------------------------------------------------- */

void peer_adopt(struct peer *p) {
    struct tracee *known = tracer_find(p->tid, true);
    if (known) known->ts = p->ts;
    if (p->t.on) return;
    /* It may be a copy of its parent's. */
    u32 options = known && known->options ? known->options : p->t.options;
    p->t = (struct rt_trace){.magic = RT_TRACE_MAGIC,
                             .on = 1,
                             .options = options,
                             .orig_rax = p->t.orig_rax,
                             .in_call = p->t.in_call,
                             .restart = p->t.restart,
                             .broken = p->t.broken};
    p->t.tracer = (u32)sys0(__NR_gettid);
    p->t.uid = (u32)sys0(__NR_getuid);
    peer_write(p->tid, p->ts + AT_TRACE, &p->t, sizeof p->t);
    if (known) known->options = options;
}

static void set_host(struct peer *p) { peer_ptrace(SETREGS, p->tid, 0, &p->host); }

void peer_leave_call(struct peer *p) {
    struct user_regs *h = &p->host;
    const struct sig_kernel_entry *k = sig_kernel_entry(h->ip);
    i64 result = (i64)h->ax;
    if (h->ip == (u64)k->insn + 2 && h->orig_ax != ~0ull && result >= RESTART_FIRST && result <= RESTART_LAST)
        peer_put(p, &p->t.restart, (u32)-result);
    else if (h->ip < (u64)k->begin || h->ip > (u64)k->insn)
        return;
    h->ip = (u64)k->abort;
    h->orig_ax = ~0ull;
    set_host(p);
}

/* Its handler of signals returns to translated code without a look at what we write. */
static void step_out_of_handler(struct peer *p) {
    struct rt_thread th;
    int status, sig = 0;
    if (peer_read(p->tid, p->ts + AT_THREAD, &th, sizeof th) != 0) return;
    for (u32 n = 0; n < STEPS_MOST && p->host.sp - th.sigstack_base < th.sigstack_size; n++) {
        long r;
        if (peer_ptrace(PTRACE_SINGLESTEP, p->tid, 0, (void *)(long)sig) != 0) return;
        while ((r = sys4(__NR_wait4, (long)p->tid, (long)&status, WALL, 0)) == -EINTR);
        if (r != (long)p->tid || (status & 0xff) != 0x7f) return;
        sig = status >> 8 == SIG_TRAP ? 0 : status >> 8 & 0x7f;
        peer_ptrace(GETREGS, p->tid, 0, &p->host);
    }
}

static u32 process_of(u32 tid) {
    char path[40], text[512] = {0};
    u32 pid = 0;
    rt_snprintf(path, sizeof path, "/proc/%u/status", tid);
    long fd = sys4(__NR_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return tid;
    sys3(__NR_read, fd, (long)text, sizeof text - 1);
    sys1(__NR_close, fd);
    for (const char *s = text; *s; s++)
        if (rt_strncmp(s, "\nTgid:\t", 7) == 0)
            for (s += 7; *s >= '0' && *s <= '9'; s++) pid = pid * 10 + (u32)(*s - '0');
    return pid ? pid : tid;
}

/* Into its handler, which takes it from translated code to a boundary. */
static void kick(struct peer *p, bool in_signal) {
    struct sig_info info = {.signo = SIG_TRAP, .code = RT_KICK_CODE};
    u32 pid = 0;
    peer_read(p->tid, p->ts + AT_THREAD + offsetof(struct rt_thread, pid), &pid, sizeof pid);
    info.rt.pid = (int)pid;
    info.rt.value = IP_MAGIC;
    if (in_signal) {
        peer_ptrace(PTRACE_SETSIGINFO, p->tid, 0, &info);
    } else {
        sys4(__NR_rt_tgsigqueueinfo, (long)process_of(p->tid), (long)p->tid, SIG_TRAP, (long)&info);
    }
    peer_ptrace(PTRACE_CONT, p->tid, 0, (void *)(in_signal ? (long)SIG_TRAP : 0));
}

static bool within(u64 at, const char *lo, const char *hi) { return at >= (u64)lo && at < (u64)hi; }

void peer_bring(struct peer *p, const struct sig_info *info) {
    u32 pending = 1;
    step_out_of_handler(p);
    peer_write(p->tid, p->ts + AT_THREAD + offsetof(struct rt_thread, pending), &pending, sizeof pending);
    peer_leave_call(p);
    if (p->host.ip - IP_CACHE_BASE < (u64)IP_CACHE_MAX || within(p->host.ip, __start_rt_border, __stop_rt_border))
        kick(p, info != NULL);
    else
        peer_ptrace(PTRACE_CONT, p->tid, 0, NULL);
}
