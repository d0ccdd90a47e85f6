/* The process as a whole: its start, fork, and its end by exit or by signal.
 *
 * The protocol of a fork: IP_R_FORK; the supervisor makes a copy of itself and
 * of the three memory files and sends channel, cache, meta and socket; the
 * child maps them over its own at the same addresses.
 */
#include <linux/fcntl.h>
#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/wait.h>

#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/processes/processes.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/core/errors.h"
#include "runtime/hooks.h"
#include "runtime/syscalls/seccomp.h"
#include "runtime/signals/sig.h"
#include "runtime/syscalls/syscall.h"
#include "runtime/ptrace/ptrace.h"

#define SCM_FDS      1
#define SOL_SOCK     1
#define MSG_CLOEXEC  0x40000000
#define MSG_CTRUNC_  8
#define FATAL_FRAMES 500
_Static_assert(FATAL_FRAMES * sizeof(u64) <= IP_SLOT_DATA, "a trace fits in a slot");

rt_lock_t process_fd_lock;

long process_name_tracer(void) { return sys2(__NR_prctl, PR_PTRACER, (long)rt.chan->supervisor_pid); }

void rt_process_init(struct tstate *ts) {
    char name[16] = {0};
    const char *prog = (const char *)rt.chan->prog, *base = prog;
    (void)ts;
    for (const char *s = prog; *s; s++)
        if (*s == '/' && s[1]) base = s + 1;
    for (u32 i = 0; i < sizeof name - 1 && base[i]; i++) name[i] = base[i];
    process_name_tracer();
    rt_find_mdwe();
    sys2(__NR_prctl, PR_SET_NAME, (long)name);
    sys3(__NR_fcntl, rt.sock_fd, F_SETFD, FD_CLOEXEC);
    sys3(__NR_fcntl, rt.runtime_fd, F_SETFD, FD_CLOEXEC);
}

u32 process_tracer(void) {
    char text[1024];
    u32 pid = 0;
    long fd = sys4(__NR_openat, AT_FDCWD, (long)"/proc/thread-self/status", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return 0;
    long n = sys3(__NR_read, fd, (long)text, sizeof text - 1);
    sys1(__NR_close, fd);
    text[n > 0 ? n : 0] = 0;
    for (const char *p = text; *p; p++)
        if (rt_strncmp(p, "\nTracerPid:\t", 12) == 0)
            for (p += 12; *p >= '0' && *p <= '9'; p++) pid = pid * 10 + (u32)(*p - '0');
    return pid;
}

/* ---- descriptors from the supervisor --------------------------------------------- */

struct msg_header {
    void *name;
    u32 name_len, pad;
    struct {
        void *base;
        u64 len;
    } *iov;
    u64 iov_len;
    void *control;
    u64 control_len;
    u32 flags, pad2;
};
struct control_header {
    u64 len;
    int level, type;
    int fds[28];
};

bool process_receive_fds(struct tstate *ts, int *fds, u32 n) {
    struct rlimit64 before;
    bool raised = rt_more_files(&before), cut = false;
    u32 got = 0;
    while (got < n && !cut) {
        u8 byte;
        struct {
            void *base;
            u64 len;
        } iov = {&byte, 1};
        struct control_header c = {0};
        struct msg_header m = {.iov = (void *)&iov, .iov_len = 1, .control = &c, .control_len = sizeof c};
        long r = sys3(__NR_recvmsg, rt.sock_fd, (long)&m, MSG_CLOEXEC);
        if (r == -EINTR) continue;
        if (r <= 0) rt_end_alone();
        if (c.len == 0 && (m.flags & MSG_CTRUNC_)) {
            cut = true;
            continue;
        }
        if (c.level != SOL_SOCK || c.type != SCM_FDS || c.len < 16) continue;
        u32 here = (u32)(c.len - 16) / 4;
        for (u32 i = 0; i < here; i++) {
            if (got < n)
                fds[got++] = c.fds[i];
            else
                sys1(__NR_close, c.fds[i]);
        }
        cut = (m.flags & MSG_CTRUNC_) != 0; /* the rest is lost */
    }
    if (raised) rt_files_as_before(&before);
    if (got == n) return true;
    while (got > 0) sys1(__NR_close, fds[--got]);
    static bool told;
    if (!told)
        rt_note(ts, "the program's limit on open files leaves no room for a new process's descriptors of ours; "
                    "raise RLIMIT_NOFILE");
    told = true;
    return false;
}

/* ---- fork ---------------------------------------------------------------------------- */

static void remap(int fd, u64 offset, u64 at, u64 len, int prot) {
    long r = rt_host_map_from(at, len, (u32)prot, MAP_SHARED | MAP_FIXED, fd, offset);
    if (r != (long)at) rt_die("a forked child cannot map its own tables (error %ld)", -r);
    sys3(__NR_madvise, (long)at, (long)len, MADV_DONTDUMP);
}

/* An undumpable process hides its memory; the new supervisor opens it once and for all. */
static void hello_of_child(struct tstate *ts) {
    struct ip_slot *s = rt_slot(ts);
    long dumpable = sys2(__NR_prctl, PR_GET_DUMPABLE, 0);
    if (dumpable != 1) sys2(__NR_prctl, PR_SET_DUMPABLE, 1);
    process_name_tracer(); /* of the new supervisor; a child does not inherit permission */
    s->a[5] = rt_show_pid();
    s->tid = rt_th(ts)->tid;
    s->a[0] = rt.pid;
    s->len = 0;
    rt_request_python(ts, IP_R_FORK_CHILD);
    if (dumpable != 1) sys2(__NR_prctl, PR_SET_DUMPABLE, 0);
}

/* fd becomes our socket: at its parent's number, or as high as the limit on numbers allows now. */
static void take_socket(int fd) {
    struct rlimit64 before, limit = {0, 0};
    bool raised = rt_more_files(&before);
    if (sys3(__NR_dup3, fd, rt.sock_fd, O_CLOEXEC) != rt.sock_fd) {
        long up = -1;
        sys1(__NR_close, rt.sock_fd);
        sys4(__NR_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit);
        for (long at = (long)limit.rlim_cur - 1; at > fd && up < 0; at--)
            up = sys3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, at);
        rt.sock_fd = up < 0 ? fd : (int)up;
    }
    if (rt.sock_fd != fd) sys1(__NR_close, fd);
    if (raised) rt_files_as_before(&before);
}

/* What the runtime had published when the kernel copied its memory.  The supervisor copied the channel before. */
struct published {
    u64 symbols[sizeof rt.chan->rt_symbols / sizeof rt.chan->rt_symbols[0]];
};

/* epoch: rt_drop_epoch() before the supervisor copied its tables. */
static void become_child(struct tstate *ts, u64 epoch, const struct published *published, bool shares_files) {
    struct rt_thread *th = rt_th(ts);
    int fds[RT_PASSING_FDS];
    memcpy(fds, rt_passing_fds, sizeof fds);
    rt_passed_fds(false);
    rt_delay(IP_AT_BORN);
    rt.pid = th->pid = th->tid = (u32)sys0(__NR_getpid);
    th->vfork_child = 0;
    th->vforked = (struct ip_vforked){.thread = th->vforked.thread};
    th->user_dispatch = 0;
    rt.final_calls = false; /* of another thread, when it called fork */
    remap(fds[0], 0, IP_CHAN_BASE, IP_CHAN_BYTES, PROT_READ | PROT_WRITE);
    remap(fds[0], IP_CHAN_BYTES, IP_XLT_BASE, IP_XLT_MAX, PROT_READ | PROT_WRITE);
    memcpy(rt.chan->rt_symbols, published->symbols, sizeof published->symbols);
    remap(fds[1], 0, IP_CACHE_BASE, IP_CACHE_MAX, PROT_READ | PROT_EXEC);
    remap(fds[1], 0, IP_XLT_CACHE, IP_CACHE_MAX, PROT_READ | PROT_WRITE);
    rt_cache_for_perf();
    remap(fds[2], 0, IP_META_BASE, IP_META_MAX, PROT_READ);
    remap(fds[2], 0, IP_XLT_META, IP_META_MAX, PROT_READ | PROT_WRITE);
    for (int i = 0; i < 3; i++) sys1(__NR_close, fds[i]);
    if (shares_files) {
        rt_hide_foreign(rt.sock_fd);
        rt.sock_fd = fds[3];
    } else {
        take_socket(fds[3]);
    }
    rt_watch_supervisor();
    rt_proc_after_fork();
    thread_after_fork(ts);
    sig_after_fork(ts);
    if (rt.mdwe) rt_find_mdwe(); /* a child may be without (PR_MDWE_NO_INHERIT, Linux 6.6) */
    rt_debug_forked(ts);
    rt_slot_attach(ts);
    hello_of_child(ts);
    rt_forked_tables(ts, epoch);
    rt_hook_fork(ts, true);
}

/* What another thread holds while this one forks would be held in the child for ever. */
static void lock_all(struct tstate *ts, bool lock) {
    struct sig_table *t = sig_priv(ts)->table;
    if (lock) {
        /* The order in which they nest elsewhere: the heap maps memory, mappings have shadow. */
        rt_flush_fork_lock(true);         /* a flush waits for threads that may wait for the others */
        rt_client_stacks_fork_lock(true); /* declaring one tells the tool */
        rt_hook_fork_lock(RT_FORK_OUTER, true);
        rt_mm_lock();
        rt_hook_fork_lock(RT_FORK_INNER, true);
        rt_error_fork_lock(true);
        thread_fork_lock(true);
        seccomp_lock(true);
        rt_lock(&t->lock);
        rt_calls_fork_lock(true);
        rt_hold_descriptors(true);
        rt_fds_fork_lock(true);
    } else {
        rt_fds_fork_lock(false);
        rt_hold_descriptors(false);
        rt_calls_fork_lock(false);
        rt_unlock(&t->lock);
        seccomp_lock(false);
        thread_fork_lock(false);
        rt_error_fork_lock(false);
        rt_hook_fork_lock(RT_FORK_INNER, false);
        rt_mm_unlock();
        rt_hook_fork_lock(RT_FORK_OUTER, false);
        rt_client_stacks_fork_lock(false);
        rt_flush_fork_lock(false);
    }
}

/* The signal for what comes over the socket goes to any thread, whose sleep would
 * begin anew, with the whole of its timeout. */
void process_expect_fds(bool begin) {
    rt_signal_when_gone(!begin);
    if (!begin && !rt_leaving && rt_supervisor_gone()) rt_end_alone();
}

static long no_fork(struct tstate *ts, long error) {
    struct ip_slot *s = rt_slot(ts);
    s->a[0] = (u64)error;
    s->len = 0;
    rt_request_python(ts, IP_R_FORKED);
    rt_unlock(&process_fd_lock);
    sig_unblock_everything(rt_th(ts));
    return -EAGAIN;
}

/* A signal that ends the maker may still come between its last look and the clone: then the child, which has not begun
 * yet, was never made.  In the channel's word, behind the fork's number: */
enum { FORK_MADE, FORK_STANDS, FORK_FALLS, FORK_STEP };
#define FORK_WAITS 100 /* of 10 ms: a maker that is killed says nothing */

static u32 fork_number;

static void fork_begins(void) {
    fork_number += FORK_STEP;
    __atomic_store_n(&rt.chan->fork_said, fork_number + FORK_MADE, __ATOMIC_RELEASE);
}

/* The maker: may the child begin? */
static bool fork_stands(struct tstate *ts, long child) {
    bool falls = sig_ends(ts);
    __atomic_store_n(&rt.chan->fork_said, fork_number + (falls ? FORK_FALLS : FORK_STANDS), __ATOMIC_RELEASE);
    sys3(__NR_futex, (long)&rt.chan->fork_said, FUTEX_WAKE, 1);
    if (falls) sys4(__NR_wait4, child, 0, __WALL, 0);
    return !falls;
}

/* The child: its maker's channel is still there. */
static void fork_wait(void) {
    const struct __kernel_timespec pause = {0, 10000000};
    u32 made = fork_number + FORK_MADE, said;
    for (u32 n = 0; (said = __atomic_load_n(&rt.chan->fork_said, __ATOMIC_ACQUIRE)) == made && n < FORK_WAITS; n++)
        sys4(__NR_futex, (long)&rt.chan->fork_said, FUTEX_WAIT, made, (long)&pause);
    if (said == fork_number + FORK_FALLS)
        for (;;) sys1(__NR_exit_group, 0);
}

long process_fork(struct tstate *ts, const struct clone_request *rq, u64 rq_size) {
    struct rt_thread *th = rt_th(ts);
    struct ip_slot *s = rt_slot(ts);
    struct clone_request k = *rq;
    int fds[RT_PASSING_FDS];

    sig_block_everything();
    if (th->pending) {
        sig_unblock_everything(th);
        return RT_INTERRUPTED;
    }
    rt_hook_fork(ts, false);
    rt_lock(&process_fd_lock);
    u64 epoch = rt_drop_epoch();
    s->len = 0;
    s->a[0] = rt_debugged() && !(rq->flags & CLONE_VFORK) && rt_debug_follows(ts);
    process_expect_fds(true);
    rt_request_python(ts, IP_R_FORK);
    bool refused = s->r[0] != 0, came = false;
    if (!refused) {
        rt_fds_arrive(ts, true);
        came = process_receive_fds(ts, fds, RT_PASSING_FDS);
        if (came) rt_pass_fds(fds);
        rt_fds_arrive(ts, false);
    }
    process_expect_fds(false);
    if (refused) {
        rt_unlock(&process_fd_lock);
        sig_unblock_everything(th);
        return -EAGAIN;
    }
    if (!came) return no_fork(ts, -EMFILE);
    bool shares_files = rq->flags & CLONE_FILES;
    /* The child keeps this very stack and FS base; what the guest asked for
     * its own stack and TLS is the caller's to emulate. */
    k.stack = k.stack_size = 0;
    k.flags &= ~((u64)CLONE_SETTLS | CLONE_CLEAR_SIGHAND); /* the host's handlers stay */
    k.tls = 0;
    rt_delay(IP_AT_FORK);
    lock_all(ts, true);
    /* Not under CLONE_VFORK: that call comes back when the child wants it. */
    bool holds = !(k.flags & CLONE_VFORK);
    if (sig_ends_or_stops(ts) || (holds ? !sig_hold_off_end(ts) : sig_is_ending(ts))) {
        lock_all(ts, false);
        rt_passed_fds(true);
        no_fork(ts, -EINTR);
        return RT_INTERRUPTED;
    }
    traced_fork(ts, true);
    struct published published;
    memcpy(published.symbols, rt.chan->rt_symbols, sizeof published.symbols);
    /* Who waits for the child in the call cannot speak to it, nor whose child it is not wait for it. */
    bool may_fall = holds && !(k.flags & CLONE_PARENT);
    fork_begins();
    rt_delay(IP_AT_FORKING);
    long r = clone_call(&k, rq_size, NULL);
    bool falls = r > 0 && may_fall && !fork_stands(ts, r);
    if (falls) r = -EINTR;
    if (r != 0) {
        if (holds) sig_admit_end(ts);
        traced_fork(ts, false);
    }
    if (r == 0) {
        if (may_fall) fork_wait();
        /* Release before the hello: its answer may need any of them. */
        lock_all(ts, false);
        traced_born(rq->flags & CLONE_PARENT);
        become_child(ts, epoch, &published, shares_files);
        if (rq->flags & CLONE_CLEAR_SIGHAND) sig_table_clear_handlers(ts);
    } else {
        lock_all(ts, false);
        bool childs = r > 0 && shares_files; /* it closes them */
        if (childs) rt_hide_foreign(rt_passing_fds[3]);
        rt_passed_fds(!childs);
        s->a[0] = (u64)r;
        s->len = 0;
        rt_request_python(ts, IP_R_FORKED);
    }
    rt_unlock(&process_fd_lock);
    sig_unblock_everything(th);
    return falls ? RT_INTERRUPTED : r;
}

/* ---- the end -------------------------------------------------------------------------- */

/* Threads that end with the process while their errors are disabled (rt_error_disable), probably by mistake. */
static u64 threads_without_errors(void) {
    struct tstate *o;
    u64 n = 0;
    for (u32 i = 0; (o = rt_thread_by_index(i)); i++) {
        n += rt_is_thread(o) && rt_th(o)->errors_off;
    }
    return n;
}

/* The process is about to end.  A child of vfork leaves the memory, and whoever else is on it, as they are. */
static void last_request(struct tstate *ts) {
    struct ip_slot *s = rt_slot(ts);
    bool alone = rt_th(ts)->vfork_child;
    rt_fds_end(ts);
    if (alone) { /* first: a tool may make requests of its own, in the same slot */
        rt_hook_thread_end(ts);
    } else {
        sig_stop_others(ts);
        rt_hook_leaving(ts, false);
    }
    s->a[6] = alone ? rt_th(ts)->errors_off != 0 : threads_without_errors();
    s->a[7] = alone ? rt_th(ts)->pid : 0;
    if (alone)
        s->a[5] = rt_show_pid();
    else
        rt_leaving = true;
}

void rt_exit_process(struct tstate *ts, int status) {
    struct ip_slot *s = rt_slot(ts);
    last_request(ts);
    s->a[0] = (u64)(u32)status;
    s->len = 0;
    rt_request_python(ts, IP_R_EXIT);
    status = (int)s->r[0];
    rt_delay(IP_AT_EXIT);
    for (;;) sys1(__NR_exit_group, status);
}

/* Before the end, with the other threads at rest: functions by which libraries
 * release what they keep (docs/spec/redirection.md section 5, _vgnU_freeres).  Each
 * returns to the exit system call, which then asks again. */
static int final_status; /* of the exit that waits for the final calls */

/* Has the thread variables of its own, without which no library's function gets far?  They lie below the word at FS,
 * which holds its own address (psABI, thread-local storage, variant II); clone with CLONE_SETTLS may have given it
 * anything. */
static bool has_variables(const struct tstate *ts) {
    u64 self;
    return rt_copy_from(&self, ts->client_fs, sizeof self) == 0 && self == ts->client_fs;
}

static bool final_call(struct tstate *ts) {
    static u32 calls;
    struct ip_slot *s = rt_slot(ts);
    sig_stop_others(ts);
    if (thread_memory_is_shared()) return false; /* those who stay may use what would be released, and write */
    s->a[0] = calls;
    s->a[1] = ts->pc;
    s->len = 0;
    rt_request_python(ts, IP_R_FINAL_CALL);
    if (s->r[0] == 0) return false;
    calls++;
    rt.final_calls = true;
    final_status = (int)ts->gpr[IP_RDI];
    rt_delay(IP_AT_FINAL);
    return rt_call_guest(ts, s->r[0], ts->pc, false);
}

/* A final call releases memory; it must not do what the program left undone when it
 * called _exit: write what its streams hold, move their file positions. */
bool process_keeps_quiet(struct tstate *ts, long nr, const u64 args[6], long *result) {
    u32 word = 0;
    switch (nr) {
    case __NR_futex:
        /* For a lock of a thread that was stopped while it held it (in fork, in fopen): it would be for ever. */
        if ((args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT && args[3] == 0 && rt_copy_from(&word, args[0], 4) == 0 &&
            word == (u32)args[2])
            rt_exit_process(ts, final_status);
        return false;
    case __NR_write:
    case __NR_pwrite64: *result = (long)args[2]; return true;
    case __NR_lseek: *result = -ESPIPE; return true;
    case __NR_writev: *result = -EIO; return true;
    default: return false;
    }
}

long rt_sys_exit_group(struct tstate *ts) {
    if ((rt.flags & IP_C_HEAP) && !rt_th(ts)->vfork_child && has_variables(ts) && final_call(ts)) return RT_NO_RESULT;
    rt_exit_process(ts, (int)ts->gpr[IP_RDI]);
}

/* The kernel ends the first process of a PID namespace for a fault, not for a signal that is sent. */
static void die_by_fault(int sig) {
    switch (sig) {
    case SIG_SEGV: __asm__ volatile("hlt"); break;
    case SIG_ILL: __asm__ volatile("ud2"); break;
    case SIG_TRAP: __asm__ volatile("int3"); break;
    case SIG_FPE: __asm__ volatile("xor %%ecx, %%ecx; div %%ecx" ::: "rax", "rcx", "rdx", "cc"); break;
    case SIG_BUS: /* a stack fault: the base is rbp, and the address not canonical */
        __asm__ volatile("push %%rbp; mov %0, %%rbp; mov 0(%%rbp), %%rax" ::"r"(1ull << 62) : "rax", "memory");
        break;
    default: break;
    }
}

void rt_die_by_signal(struct tstate *ts, int sig, int code, u64 addr) {
    struct rt_thread *th = rt_th(ts);
    struct sig_action dfl = {0};
    rt_trace(ts)->dying = 1;
    struct ip_slot *s = rt_slot(ts);
    last_request(ts);
    u32 n = rt_stack_trace(ts, (u64 *)(void *)s->data, FATAL_FRAMES);
    s->a[0] = (u64)sig;
    s->a[1] = (u64)(i64)code;
    s->a[2] = addr;
    s->a[3] = rt_pc(ts->pc);
    s->a[4] = rt.final_calls ? (u64)(u32)final_status + 1 : 0;
    s->len = n * 8;
    rt_request_python(ts, IP_R_FATAL);
    /* Natively there would have been no call that it could fault in. */
    if (rt.final_calls)
        for (;;) sys1(__NR_exit_group, (int)s->r[0]);
    /* A real death, so that the parent's wait and the core dump are right. */
    sig_block_everything();
    sig_kernel_action(sig, &dfl, NULL);
    struct sig_info info = sig_priv(ts)->fault_info;
    if (info.signo != sig) info = (struct sig_info){.signo = sig, .code = code, .addr = addr};
    sig_die_as_guest(ts, sig, &info);
    sys3(__NR_tgkill, th->pid, th->tid, sig);
    for (;;) {
        sig_kernel_mask(~SIG_BIT(sig));
        if (th->pid == 1) die_by_fault(sig);
        sys1(__NR_exit_group, 128 + sig);
    }
}

/* ---- SIGKILL to oneself ----------------------------------------------------------------- */

/* The kernel leaves no time after it, so what there is to report is reported before.  The first process of a PID
 * namespace survives it, and from other processes, or to a group of them, it comes unannounced. */
static void die_if_killed(struct tstate *ts, int sig, bool own) {
    if (sig == SIG_KILL && own && rt_th(ts)->pid != 1) rt_die_by_signal(ts, SIG_KILL, 0, 0);
}

static bool is_own_thread(struct tstate *ts, u32 tid) { return sys3(__NR_tgkill, rt_th(ts)->pid, tid, 0) == 0; }

/* The call with its three arguments, as any that only the kernel answers. */
static long pass(struct tstate *ts, long nr, const char *name, u64 to, int sig) {
    u64 args[6] = {ts->gpr[IP_RDI], ts->gpr[IP_RSI], ts->gpr[IP_RDX]};
    long r = sig_wait_here(ts, nr, args);
    sig_show_sent(ts, name, sig, to, r);
    return r;
}

/* own: to this process, or to a thread of it. */
static long pass_own(struct tstate *ts, long nr, const char *name, u64 to, int sig, bool own, u32 tid) {
    long r = pass(ts, nr, name, to, sig);
    if (r == 0 && own && sig_would_end(ts, sig, tid)) sig_await_end(ts);
    return r;
}

static bool is_own_group(int group) { return group == 0 || (group < -1 && sys1(__NR_getpgid, 0) == -(long)group); }

long rt_sys_kill(struct tstate *ts) {
    u64 pid = ts->gpr[IP_RDI];
    int sig = (int)ts->gpr[IP_RSI];
    bool own = (u32)pid == rt_th(ts)->pid;
    die_if_killed(ts, sig, own);
    return pass_own(ts, __NR_kill, "kill", pid, sig, own || is_own_group((int)pid), 0);
}

long rt_sys_tkill(struct tstate *ts) {
    u64 tid = ts->gpr[IP_RDI];
    int sig = (int)ts->gpr[IP_RSI];
    die_if_killed(ts, sig, sig == SIG_KILL && is_own_thread(ts, (u32)tid));
    return pass_own(ts, __NR_tkill, "tkill", tid, sig, true, (u32)tid);
}

long rt_sys_tgkill(struct tstate *ts) {
    u64 tid = ts->gpr[IP_RSI];
    int sig = (int)ts->gpr[IP_RDX];
    bool own = (u32)ts->gpr[IP_RDI] == rt_th(ts)->pid;
    die_if_killed(ts, sig, sig == SIG_KILL && own && is_own_thread(ts, (u32)tid));
    return pass_own(ts, __NR_tgkill, "tgkill", tid, sig, own, (u32)tid);
}
