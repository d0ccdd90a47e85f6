/* Threads: their memory, their table, clone with shared memory, and exit.
 *
 * A tstate is never unmapped, only used again, so pointers from the table stay
 * valid.  A thread cannot free the stack it dies on: it stays a zombie in the
 * table until the kernel no longer knows its id.
 */
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/sched.h>

#include "runtime/core/core.h"
#include "runtime/processes/processes.h"
#include "runtime/signals/signals.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/hooks.h"
#include "runtime/seam.h"
#include "runtime/syscalls/seccomp.h"
#include "runtime/signals/sig.h"
#include "runtime/ptrace/ptrace.h"

#define STACK_SIZE    (64 * 1024ull)
#define SIGSTACK_SIZE (64 * 1024ull)
#define TSTATE_SIZE   RT_ROUND_UP(sizeof(struct tstate), RT_PAGE)
#define MAX_THREADS   IP_SLOTS
#define WAIT_YIELDS   1000u
#define WAIT_ALIVE    64
#define WAIT_NAP      200000
#define WAIT_IDLE     (1000000000u / WAIT_NAP)

static struct tstate *table[MAX_THREADS];
static u32 table_used;
static rt_lock_t table_lock;

u32 thread_count(void) { return __atomic_load_n(&table_used, __ATOMIC_ACQUIRE); }

struct tstate *rt_thread_by_index(u32 i) { return i < thread_count() ? table[i] : NULL; }

void thread_fork_lock(bool lock) {
    if (lock)
        rt_lock(&table_lock);
    else
        rt_unlock(&table_lock);
}

static struct tstate *allocate(bool first) {
    u64 guard = RT_PAGE, bytes = guard + STACK_SIZE + TSTATE_SIZE + guard + SIGSTACK_SIZE;
    u64 base = (u64)rt_pages(bytes), stack = base + guard, state = stack + STACK_SIZE;
    sys3(__NR_mprotect, (long)base, (long)guard, PROT_NONE);
    sys3(__NR_mprotect, (long)(state + TSTATE_SIZE), (long)guard, PROT_NONE);

    struct tstate *ts = (struct tstate *)state;
    struct rt_thread *th = rt_th(ts);
    ts->self = state;
    ts->rt_sp = state;
    th->ts = ts;
    th->stack_base = stack;
    th->stack_size = STACK_SIZE;
    th->sigstack_base = state + TSTATE_SIZE + guard;
    th->sigstack_size = SIGSTACK_SIZE;
    if (rt.flags & IP_C_CALLSTACK) rt_callstack_new(ts, first);
    return ts;
}

static bool killed(const struct rt_thread *th) {
    return sys3(__NR_tgkill, th->pid, th->tid, 0) == -ESRCH || (th->vfork_child && rt_process_ended(th->pid));
}

/* A child on our memory may end or execute without a word: the kernel clears
 * in_use then (clone_shared), or its process is no more. */
static bool ended(struct rt_thread *th) {
    return th->in_use == TH_FREE || ((th->in_use == TH_ZOMBIE || (th->vfork_child && th->tid)) && killed(th));
}

/* One that does not run yet counts. */
bool thread_memory_is_shared(void) {
    for (u32 i = 0; i < table_used; i++) {
        struct rt_thread *t = rt_th(table[i]);
        if (t->in_use == TH_LIVE && t->vfork_child && !ended(t)) return true;
    }
    return false;
}

/* May it be used again?  Not while the thread lives that waits for it in vfork: that one frees it, and would
 * free it again under its next owner, for the child is dead before its maker wakes up. */
static bool is_free(struct rt_thread *th) {
    if (th->in_use != TH_FREE && th->maker_tid && sys3(__NR_tgkill, th->maker_pid, th->maker_tid, 0) != -ESRCH)
        return false;
    return ended(th);
}

/* The processor time that it has had, as the kernel counts it for each thread; 0: nobody knows. */
static u64 time_run(const struct rt_thread *th) {
    i64 t[2] = {0};
    u64 clock = th->vfork_child ? ~(u64)th->pid << 3 | 2 : ~(u64)th->tid << 3 | 4 | 2; /* CPUCLOCK_PERTHREAD, _SCHED */
    if (sys2(__NR_clock_gettime, (long)(int)clock, (long)t) < 0) return 0;
    return (u64)t[0] * 1000000000 + (u64)t[1];
}

/* Does it only wait for a CPU?  One of low priority may do so for seconds on a busy machine. */
static bool is_runnable(const struct rt_thread *th) {
    char path[64], text[256] = {0};
    rt_snprintf(path, sizeof path, "/proc/%u/task/%u/stat", th->pid, th->tid);
    long fd = sys4(__NR_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return false;
    long n = sys3(__NR_read, fd, (long)text, sizeof text - 1);
    sys1(__NR_close, fd);
    while (n > 0 && text[n] != ')') n--; /* its name, which may hold anything, ends there */
    return n > 0 && text[n + 1] == ' ' && text[n + 2] == 'R';
}

bool thread_wait(struct tstate *ts, struct thread_wait *w) {
    i64 pause[2] = {0, WAIT_NAP};
    /* Each yield may give a whole slice to a busy machine's other programs. */
    if (w->moments % WAIT_ALIVE == 0 && thread_killed(ts)) return false;
    if (w->moments++ < WAIT_YIELDS) {
        sys0(__NR_sched_yield);
        return true;
    }
    /* Asleep: under real-time scheduling, one of a lower priority would never get a CPU from yields. */
    sys2(__NR_nanosleep, (long)pause, 0);
    u64 now = time_run(rt_th(ts));
    w->idle = now == w->ran ? w->idle + 1 : 0;
    w->ran = now;
    if (w->idle == WAIT_IDLE && is_runnable(rt_th(ts))) w->idle = 0;
    return w->idle < WAIT_IDLE;
}

/* table_lock is held, for its memory may be another one's in a moment.  Nobody asks twice about one that is a zombie,
 * nor kicks it: when it has been waited for, its number may be another process's. */
static bool noted_killed(struct rt_thread *th) {
    u32 live = TH_LIVE;
    if (!th->vfork_child || !ended(th)) return false;
    __atomic_compare_exchange_n(&th->in_use, &live, TH_ZOMBIE, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    return true;
}

bool thread_killed(struct tstate *ts) {
    if (!rt_th(ts)->vfork_child) return false;
    rt_lock(&table_lock);
    bool is = noted_killed(rt_th(ts));
    rt_unlock(&table_lock);
    return is;
}

/* Everything that a previous owner left, except the memory itself. */
static void renew(struct tstate *ts) {
    struct tstate keep = {0};
    struct rt_thread *th = rt_th(ts), *k = rt_th(&keep);
    struct sig_vsave *vsave = sig_priv(ts)->vsave;
    keep.self = ts->self;
    keep.rt_sp = ts->rt_sp;
    keep.cs_base = ts->cs_base;
    keep.cs_limit = ts->cs_limit;
    keep.tid_guest = ts->tid_guest;
    keep.tr_ptr = ts->tr_ptr; /* its buffer stays */
    k->ts = ts;
    k->stack_base = th->stack_base, k->stack_size = th->stack_size;
    k->sigstack_base = th->sigstack_base, k->sigstack_size = th->sigstack_size;
    memcpy(ts, &keep, sizeof keep);
    sig_priv(ts)->vsave = vsave;
    if (vsave)
        for (u32 i = 0; i < SIG_VSAVES; i++) vsave[i].frame = 0;
    if (ts->cs_base) /* give a deep stack's pages back */
        sys3(__NR_madvise, (long)ts->cs_base, (long)(ts->cs_limit - ts->cs_base), MADV_DONTNEED);
}

/* In the call stack, entry 0 matches nothing: an empty stack needs no test. */
static void callstack_init(struct tstate *ts) {
    ts->cs_top = ts->cs_base;
    if (ts->cs_base) *(struct ip_csent *)ts->cs_base = (struct ip_csent){0, 0};
}

struct tstate *rt_thread_new(void) {
    struct tstate *ts = NULL;
    if (table_used) rt_alone = false;
    rt_lock(&table_lock);
    for (u32 i = 0; i < table_used && !ts; i++)
        if (is_free(rt_th(table[i])) && rt_slot_detach(table[i])) ts = table[i];
    if (ts) {
        sig_table_drop(ts);
        exec_free(ts);
        renew(ts);
    } else if (table_used < MAX_THREADS) {
        ts = allocate(table_used == 0);
        ts->tid_guest = table_used + 1;
        table[table_used] = ts;
        __atomic_store_n(&table_used, table_used + 1, __ATOMIC_RELEASE);
    }
    if (ts) {
        struct rt_thread *th = rt_th(ts);
        th->in_use = TH_LIVE;
        th->in_runtime = RT_IN_RUNTIME;
        th->pid = rt.pid;
        th->altstack_flags = SS_FL_DISABLE;
        if (ts->tid_guest == 1 && table_used == 1) {
            th->pid = (u32)sys0(__NR_getpid);
            th->tid = (u32)sys0(__NR_gettid);
        }
        callstack_init(ts);
        traced_init(ts);
        sig_table_drop(ts); /* the process's table, until inherited otherwise */
    }
    rt_unlock(&table_lock);
    if (ts) rt_slot_attach(ts);
    return ts;
}

void thread_withdraw_killed(void) {
    rt_lock(&table_lock);
    for (u32 i = 0; i < table_used; i++)
        if (noted_killed(rt_th(table[i]))) rt_slot_detach(table[i]);
    rt_unlock(&table_lock);
}

static void rt_thread_free(struct tstate *ts) {
    rt_lock(&table_lock);
    rt_slot_detach(ts);
    rt_unlock(&table_lock);
    sig_table_drop(ts);
    exec_free(ts);
    __atomic_store_n(&rt_th(ts)->in_use, TH_FREE, __ATOMIC_RELEASE);
}

void thread_after_fork(struct tstate *ts) {
    for (u32 i = 0; i < table_used; i++) {
        rt_th(table[i])->has_slot = 0; /* that was the parent's channel */
        if (table[i] != ts) rt_th(table[i])->in_use = TH_FREE;
    }
}

bool thread_is_last(struct tstate *ts) {
    for (u32 i = 0; i < table_used; i++) {
        if (table[i] != ts && rt_is_thread(table[i])) return false;
    }
    return true;
}

/* By the thread's number: it has, or had, a name that the supervisor knows. */
static bool named[MAX_THREADS + 1];

void thread_is_named(const struct tstate *ts) { named[ts->tid_guest] = true; }

/* A request is two waits for another process, so only where somebody cares: a number that had a name has none again, a
 * thread that ends with its errors disabled gets a warning, --trace-sched=yes. */
static bool is_news(struct tstate *ts, bool start) {
    if (rt.chan->shows & IP_SHOW_THREADS) return true;
    return start ? named[ts->tid_guest] : rt_th(ts)->errors_off != 0;
}

static void announce(struct tstate *ts, bool start) {
    if (!is_news(ts, start)) return;
    if (start) named[ts->tid_guest] = false;
    struct ip_slot *s = rt_slot(ts);
    s->a[0] = ts->tid_guest;
    s->a[1] = start ? IP_THREAD_STARTS : IP_THREAD_ENDS;
    s->a[2] = rt_th(ts)->tid;
    s->a[3] = rt_th(ts)->errors_off != 0;
    s->len = 0;
    rt_request_python(ts, IP_R_THREAD);
}

/* ---- clone -------------------------------------------------------------------------- */

/* First C code of a new task, on its own runtime stack, all signals blocked.
 * FS is ours by CLONE_SETTLS, GS is inherited. */
__attribute__((used)) RT_NORETURN void thread_start(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    rt_delay(IP_AT_THREAD);
    th->tid = (u32)sys0(__NR_gettid);
    th->pid = (u32)sys0(__NR_getpid);
    rt_slot(ts)->tid = th->tid;
    if (!th->vfork_child) announce(ts, true);
    if (rt_debugged()) rt_debug_begins(ts);
    (void)sig_is_ending(ts); /* then nobody knew of us to stop us */
    if (th->clear_handlers) sig_table_clear_handlers(ts);
    rt_signal_thread_init(ts);
    if (th->came_from) rt_hook_stack_loaded(ts, th->came_from, ts->gpr[IP_RSP]);
    rt_hook_thread_begin(ts);
    rt_run(ts);
}

/* The guest's registers as the kernel copies them; the call returns 0. */
static void copy_state(struct tstate *from, struct tstate *to, u64 sp) {
    memcpy(to->gpr, from->gpr, sizeof to->gpr);
    to->pc = rt_th(from)->syscall_restart_pc + 2;
    to->rflags = from->rflags;
    to->gpr[IP_RAX] = 0;
    to->gpr[IP_RCX] = to->pc; /* syscall leaves its return address and the flags */
    to->gpr[IP_R11] = from->rflags;
    if (sp) to->gpr[IP_RSP] = sp;
    to->client_fs = from->client_fs;
    to->client_gs = from->client_gs;
    memcpy(to->client_sel, from->client_sel, sizeof to->client_sel);
    to->bbcount = from->bbcount;
    rt_set_stack(to, from->stack_lo, from->stack_hi);
    to->stack_shared = from->stack_shared;
    to->stack_looks = from->stack_looks;
    if (!(rt.flags & IP_C_SHADOW)) return;
    memcpy(to->vgpr, from->vgpr, sizeof to->vgpr);
    memcpy(to->vk, from->vk, sizeof to->vk);
    memcpy(to->vmmx, from->vmmx, sizeof to->vmmx);
    memcpy(to->vvec, from->vvec, sizeof to->vvec);
    to->vflags = from->vflags;
    to->vfsw = from->vfsw;
    to->umask = from->umask;
    static const u8 known[] = {IP_RAX, IP_RCX, IP_R11, IP_RSP};
    for (u32 i = 0; i < sizeof known; i++) {
        to->vgpr[known[i]] = 0;
        to->umask &= ~(1ull << (IP_U_GPR0 + known[i]));
    }
}

static void shadow_ids(const struct clone_request *rq) {
    if (!(rt.flags & IP_C_SHADOW)) return;
    if (rq->flags & CLONE_PARENT_SETTID) rt_hook_written(rq->parent_tid, 4);
    if (rq->flags & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID)) rt_hook_written(rq->child_tid, 4);
    if (rq->flags & CLONE_PIDFD) rt_hook_written(rq->pidfd, 4);
}

static u64 child_sp(const struct clone_request *rq) { return rq->stack ? rq->stack + rq->stack_size : 0; }

/* What is known of the stack that a new thread gets. */
struct new_stack {
    bool known, loaded; /* loaded: the child goes over to it by itself, once its signals are open */
    bool shared, takes;
    u64 lo, hi;
};

/* A thread as a libc makes it, its data between its stack and the end of their mapping [lo, hi), behind a guard. */
static bool is_of_libc(const struct clone_request *rq, u64 lo, u64 hi) {
    struct rt_seg below;
    return rq->flags & CLONE_THREAD && rq->flags & CLONE_SETTLS && rq->tls >= rq->stack && rq->tls < hi &&
           rt_find_seg(lo - 1, &below) && !below.prot;
}

/* The stack may lie where no shadow is, or nothing that can be read: before signals are blocked, for a fault is the end
 * then. */
static struct new_stack shadow_new_stack(const struct tstate *ts, const struct clone_request *rq) {
    struct new_stack n = {0};
    u64 maker = ts->gpr[IP_RSP], sp = child_sp(rq);
    if (!(rt.flags & IP_C_SHADOW)) return n;
    if (!rq->stack || !rt_hook_stack_region(sp, &n.lo, &n.hi, &n.takes)) return n;
    n.known = true;
    if (rq->stack_size && rq->stack > n.lo) n.lo = rq->stack;
    if (rq->stack_size) n.hi = sp;
    bool its_makers = maker >= n.lo && maker < n.hi;
    /* Function and argument, which its maker's clone(3) has put below the stack pointer: told as invalid writes, and
     * such leave no V bits. */
    if (its_makers && sp < maker) rt_hook_written(sp, maker - sp < 16 ? maker - sp : 16);
    /* Without a size nobody knows how far down it goes, in what the kernel may have joined with other mappings, or in a
     * block or array with other things below. */
    n.loaded = !rq->stack_size && !its_makers && !is_of_libc(rq, n.lo, n.hi) &&
               !(rq->flags & CLONE_THREAD && rt.chan->keeps_stack);
    if (n.loaded) return n;
    /* A thread's stack begins near the top of its mapping.  Elsewhere (goroutines) the
     * mapping holds other things too, and so does its maker's stack, in a frame of which
     * a process has its own.  Go takes stacks out of its heap, which since Go 1.26 begins
     * anywhere in a mapping, its top included. */
    n.shared = !rq->stack_size && (its_makers || rt.chan->keeps_stack || n.hi - sp > (n.hi - n.lo) / 4);
    if (!(rq->flags & CLONE_THREAD) && n.shared) n.takes = true;
    if (!n.shared) n.takes = rt_hook_stack_new(n.lo, n.hi, sp);
    return n;
}

static void set_new_stack(struct tstate *child, const struct new_stack *n, u64 maker) {
    if (!n->known) return;
    if (n->loaded) {
        rt_th(child)->came_from = maker;
        return;
    }
    rt_set_stack(child, n->lo, n->hi);
    child->stack_shared = n->shared;
    /* The red zone is the maker's: what lies between is no frame that a call here gives back. */
    child->umask &= ~(1ull << IP_U_TAKES | 1ull << IP_U_REDZONE | 1ull << IP_U_TESTED);
    child->redzone_not_lo = 0;
    child->stack_looks = 0;
    if (n->takes) child->umask |= 1ull << IP_U_TAKES;
}

long clone_call(const struct clone_request *rq, u64 rq_size, struct tstate *child) {
    if (rq_size) {
        u64 args[6] = {(u64)rq, rq_size, 0, 0, 0, 0};
        return sig_clone_call(__NR_clone3, args, child);
    }
    u64 args[6] = {rq->flags | rq->exit_signal, rq->stack, rq->parent_tid, rq->child_tid, rq->tls, 0};
    return sig_clone_call(__NR_clone, args, child);
}

static void copy_callstack(struct tstate *from, struct tstate *to) {
    u64 used = from->cs_top + sizeof(struct ip_csent) - from->cs_base;
    if (!from->cs_base || used > to->cs_limit - to->cs_base || used > (1u << 20)) return;
    memcpy((void *)to->cs_base, (void *)from->cs_base, used);
    to->cs_top = to->cs_base + used - sizeof(struct ip_csent);
}

static struct ip_vforked next_vforked(struct tstate *maker) {
    static u32 made;
    const struct ip_vforked *by = &rt_th(maker)->vforked;
    u32 thread = by->thread ? by->thread : (u32)maker->tid_guest;
    u32 number = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
    return (struct ip_vforked){number, by->known ? by->number : by->by, thread, 0};
}

/* A task on the same memory: a thread, or a child as vfork and posix_spawn
 * make it, which is a process of its own that soon becomes another program. */
static long clone_shared(struct tstate *ts, const struct clone_request *rq, u64 rq_size) {
    struct rt_thread *th = rt_th(ts);
    struct clone_request k = *rq;
    bool thread = rq->flags & CLONE_THREAD, vfork = rq->flags & CLONE_VFORK;

    struct new_stack stack = shadow_new_stack(ts, rq);
    shadow_ids(rq); /* now: as above, and after the call the thread may be gone already, and its memory */
    sig_block_everything();
    if (th->pending) {
        sig_unblock_everything(th);
        return RT_INTERRUPTED;
    }
    struct tstate *child = rt_thread_new();
    if (child == NULL) {
        sig_unblock_everything(th);
        return -EAGAIN;
    }
    struct rt_thread *ct = rt_th(child);
    ct->vfork_child = !thread;
    if (sig_is_ending(ts) || (!thread && sig_ends_or_stops(ts))) {
        rt_thread_free(child);
        sig_unblock_everything(th);
        return RT_INTERRUPTED;
    }
    rt_trace(child)->options = rt_trace(ts)->options;
    rt_trace(child)->orig_rax = rt_trace(ts)->orig_rax;
    copy_state(ts, child, child_sp(rq));
    if (rq->flags & CLONE_SETTLS) child->client_fs = rq->tls, child->client_sel[0] = 0;
    if (!thread) rt_memory_shared = true;
    ct->files = rq->flags & CLONE_FILES ? th->files : rt_fds_copied(ts);
    ct->no_tsc = th->no_tsc;
    if (!thread) {
        ct->errors_off = th->errors_off; /* a process goes on as its maker was */
        ct->vforked = next_vforked(ts);
    }
    ct->sigmask = th->sigmask;
    if (vfork) {
        ct->maker_pid = th->pid, ct->maker_tid = th->tid;
        /* else the kernel forgets the alternate stack, sigaltstack(2) */
        ct->altstack_sp = th->altstack_sp;
        ct->altstack_size = th->altstack_size;
        ct->altstack_flags = th->altstack_flags;
        copy_callstack(ts, child);
    }
    sig_table_inherit(ts, child, !(rq->flags & CLONE_SIGHAND));
    set_new_stack(child, &stack, ts->gpr[IP_RSP]);

    ct->clear_handlers = (rq->flags & CLONE_CLEAR_SIGHAND) != 0;
    k.flags = (k.flags | CLONE_SETTLS) & ~(u64)CLONE_CLEAR_SIGHAND;
    if (!thread && !vfork && !(k.flags & (CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID))) {
        _Static_assert(TH_FREE == 0, "what the kernel writes");
        k.flags |= CLONE_CHILD_CLEARTID;
        k.child_tid = (u64)&ct->in_use;
    }
    k.tls = child->self;
    k.stack = rq_size ? ct->stack_base : child->rt_sp;
    k.stack_size = rq_size ? ct->stack_size : 0;
    if (thread) seccomp_lock(true); /* nothing under it takes a lock: a fork takes those before this one */
    seccomp_inherit(ts, child);
    rt_delay(IP_AT_CLONE);
    long r = clone_call(&k, rq_size, child);
    if (thread) seccomp_lock(false);
    if (vfork && r > 0 && rt_supervisor_gone()) /* the child may have met that with locks held */
        rt_end_alone();
    /* After vfork the child has left this memory.  Any other child is already
     * running and may even be gone: its tstate is no longer ours to touch. */
    if (r < 0 || vfork) {
        if (!(rq->flags & CLONE_FILES)) rt_fds_dropped(ct->files);
        rt_thread_free(child);
    }
    sig_unblock_everything(th);
    return r;
}

/* A child with memory of its own begins on another stack, which may lie in a frame of its maker's: no step up there, by
 * which that frame would be given back. */
static void go_to_stack(struct tstate *ts, const struct clone_request *rq) {
    struct new_stack stack = shadow_new_stack(ts, rq);
    u64 maker = ts->gpr[IP_RSP];
    ts->gpr[IP_RSP] = child_sp(rq);
    if (!stack.known || stack.loaded)
        rt_hook_stack_loaded(ts, maker, ts->gpr[IP_RSP]);
    else
        set_new_stack(ts, &stack, maker);
}

static long clone_any(struct tstate *ts, const struct clone_request *rq, u64 rq_size) {
    if ((rq->flags & CLONE_SIGHAND) && (rq->flags & CLONE_CLEAR_SIGHAND))
        return -EINVAL; /* what the kernel would say if it saw the second one */
    if (rq->flags & CLONE_VM) {
        long pid = clone_shared(ts, rq, rq_size);
        if (pid > 0 && rt_debugged() && !(rq->flags & CLONE_THREAD)) rt_debug_child(ts, true, (u64)pid);
        return pid;
    }
    if (rq->flags & CLONE_THREAD) return -EINVAL; /* as the kernel: threads share memory */
    long r = process_fork(ts, rq, rq_size);
    if (r == 0) {
        if (rq->flags & CLONE_SETTLS) ts->client_fs = rq->tls, ts->client_sel[0] = 0;
        if (rq->stack) go_to_stack(ts, rq);
    }
    if (r > 0 && rt_debugged()) rt_debug_child(ts, rq->flags & CLONE_VFORK, (u64)r);
    if (r >= 0) shadow_ids(rq);
    return r;
}

long rt_sys_clone(struct tstate *ts) {
    const u64 *g = ts->gpr;
    struct clone_request rq = {
        .flags = g[IP_RDI] & 0xffffff00u,
        .exit_signal = g[IP_RDI] & CSIGNAL,
        .stack = g[IP_RSI],
        .parent_tid = g[IP_RDX],
        .child_tid = g[IP_R10],
        .tls = g[IP_R8],
    };
    if (rq.flags & CLONE_PIDFD) rq.pidfd = rq.parent_tid;
    return clone_any(ts, &rq, 0);
}

long rt_sys_clone3(struct tstate *ts) {
    struct clone_request rq = {0};
    u64 from = ts->gpr[IP_RDI], size = ts->gpr[IP_RSI];
    if (size > RT_PAGE) return -E2BIG;
    if (size < 64 /* CLONE_ARGS_SIZE_VER0 */) return -EINVAL;
    for (u64 at = sizeof rq; at < size; at += 8) { /* fields newer than we know */
        u64 word = 0, n = size - at < 8 ? size - at : 8;
        if (rt_copy_from(&word, from + at, n) != 0) return -EFAULT;
        if (word) return -E2BIG;
    }
    u64 known = size < sizeof rq ? size : sizeof rq;
    if (rt_copy_from(&rq, from, known) != 0) return -EFAULT;
    if (!rq.stack != !rq.stack_size) return -EINVAL;
    return clone_any(ts, &rq, known);
}

long rt_sys_fork(struct tstate *ts) {
    struct clone_request rq = {.exit_signal = SIG_CHLD};
    return clone_any(ts, &rq, 0);
}

long rt_sys_vfork(struct tstate *ts) {
    struct clone_request rq = {.flags = CLONE_VM | CLONE_VFORK, .exit_signal = SIG_CHLD};
    return clone_any(ts, &rq, 0);
}

/* ---- the end of a thread -------------------------------------------------------------- */

long rt_sys_exit(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    int status = (int)ts->gpr[IP_RDI];
    if (!th->vfork_child && thread_is_last(ts)) return rt_sys_exit_group(ts); /* with it the process ends */
    if (rt_debugged()) rt_debug_exits(ts, status);
    rt_hook_thread_end(ts); /* while the process's end still waits for this thread */
    if (!th->vfork_child) {
        rt_lock(&table_lock);
        bool last = thread_is_last(ts);
        if (!last) th->in_use = TH_ZOMBIE;
        rt_unlock(&table_lock);
        if (last) rt_exit_process(ts, status);
        sig_block_everything();
        announce(ts, false);
        rt_slot_detach(ts);
    }
    for (;;) sys1(__NR_exit, status);
}

long rt_sys_set_tid_address(struct tstate *ts) {
    rt_th(ts)->clear_child_tid = ts->gpr[IP_RDI];
    return sys1(__NR_set_tid_address, (long)ts->gpr[IP_RDI]);
}
