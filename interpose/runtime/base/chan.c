/* Requests to the supervisor through the channel. */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/futex.h>
#include <linux/time_types.h>

#include "runtime/seam.h"
#include "runtime/base/ksignal.h"
#include "abi/inline/delay.h"
#include "abi/inline/ticks.h"

#define WAIT_NS 200000000 /* then ask whether anybody is still there */

static struct ip_slot *slot_at(u32 i) {
    return (struct ip_slot *)(IP_CHAN_BASE + IP_CHAN_SLOTS + (u64)i * IP_SLOT_SIZE);
}

struct ip_slot *rt_slot(struct tstate *ts) { return slot_at(rt_th(ts)->slot); }

void rt_slot_attach(struct tstate *ts) {
    for (u32 i = 0; i < IP_SLOTS; i++) {
        struct ip_slot *s = slot_at(i);
        u32 want = IP_S_FREE;
        u64 used = rt.chan->slots_used;
        while (used <= i && !__atomic_compare_exchange_n(&rt.chan->slots_used, &used, i + 1, false, __ATOMIC_SEQ_CST,
                                                         __ATOMIC_RELAXED));
        if (s->state == IP_S_FREE &&
            __atomic_compare_exchange_n(&s->state, &want, IP_S_IDLE, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
            rt_th(ts)->slot = i;
            rt_th(ts)->has_slot = 1;
            ts->slot = i;
            s->tstate = (u64)ts;
            s->pending_sig = (u64)&rt_th(ts)->pending_sig;
            s->waiting = 0;
            return;
        }
    }
    rt_die("more than %d threads at once", IP_SLOTS);
}

/* Who was killed amid a request: it is not made any more.  False: it is being answered. */
static bool withdraw(struct tstate *ts) {
    u32 i = rt_th(ts)->slot;
    u64 bit = 1ull << (i % 64);
    return (__atomic_fetch_and(&rt.chan->pend_tr[i / 64], ~bit, __ATOMIC_SEQ_CST) & bit) ||
           (__atomic_fetch_and(&rt.chan->pend_py[i / 64], ~bit, __ATOMIC_SEQ_CST) & bit);
}

bool rt_slot_detach(struct tstate *ts) {
    if (!rt_th(ts)->has_slot) return true;
    struct ip_slot *s = rt_slot(ts);
    if (__atomic_load_n(&s->state, __ATOMIC_SEQ_CST) == IP_S_POSTED && !withdraw(ts)) return false;
    rt_th(ts)->has_slot = 0;
    __atomic_store_n(&s->state, IP_S_FREE, __ATOMIC_SEQ_CST);
    return true;
}

void rt_delay(u32 at) {
    u64 ns = ip_delay_ns(rt.chan, at);
    if (ns == 0) return;
    struct __kernel_timespec t = {(long long)(ns / 1000000000), (long long)(ns % 1000000000)};
    while (sys2(__NR_nanosleep, (long)&t, (long)&t) == -EINTR);
}

u64 rt_show_pid(void) {
    static u64 shown; /* by all processes on this memory, which have one socket */
    u64 number = __atomic_add_fetch(&shown, 1, __ATOMIC_RELAXED);
    while (sys6(__NR_sendto, rt.sock_fd, (long)&number, sizeof number, 0x4000 /* MSG_NOSIGNAL */, 0, 0) == -EINTR);
    return number;
}

int rt_watched_fd = -1;
bool rt_leaving;

/* Where the client runs or sleeps and asks nothing, only a signal can tell. */
void rt_watch_supervisor(void) {
    struct {
        int type, pid;
    } owner = {1 /* F_OWNER_PID */, (int)sys0(__NR_getpid)};
    rt_watched_fd = rt.sock_fd;
    sys3(__NR_fcntl, rt.sock_fd, 10 /* F_SETSIG */, 5 /* SIGTRAP */);
    sys3(__NR_fcntl, rt.sock_fd, 15 /* F_SETOWN_EX */, (long)&owner);
    rt_signal_when_gone(true);
}

void rt_signal_when_gone(bool wanted) {
    sys3(__NR_fcntl, rt.sock_fd, 4 /* F_SETFL */, wanted ? 020000 /* O_ASYNC */ : 0);
}

bool rt_supervisor_gone(void) {
    char c;
    if (rt.chan->dead) return true;
    /* MSG_PEEK | MSG_DONTWAIT: end of file when the other side is closed. */
    return sys6(__NR_recvfrom, rt.sock_fd, (long)&c, 1, 0x42, 0, 0) == 0;
}

/* A child of vfork ends alone: whose memory it is says why.  Its kernel's signal may be held off by this very
 * child (process_expect_fds), and locks that the child holds are never given back. */
static void end_of_vfork_child(void) {
    struct sig_info info = {.signo = SIG_TRAP, .code = SIC_IO};
    info.rt.value = (u64)rt_watched_fd;
    sys3(__NR_rt_sigqueueinfo, rt.pid, SIG_TRAP, (long)&info);
    for (;;) sys1(__NR_exit_group, 1);
}

void rt_end_alone(void) {
    static u32 said; /* threads find out at the same time */
    if (rt_th(rt_current())->vfork_child) end_of_vfork_child();
    if (__atomic_exchange_n(&said, 1, __ATOMIC_ACQ_REL))
        for (;;) sys0(__NR_pause);
    for (u32 i = 0; i < sizeof rt.chan->left_files / sizeof rt.chan->left_files[0]; i++)
        if (rt.chan->left_files[i][0]) sys1(__NR_unlink, (long)rt.chan->left_files[i]);
    if (rt.chan->dead == IP_DEAD_TOLD || rt.chan->dead == IP_DEAD_ASKED)
        for (;;) sys1(__NR_exit_group, rt.chan->dead == IP_DEAD_TOLD);
    rt_die("the supervisor is gone (killed?); the program cannot go on");
}

static u64 ticks(u64 *cpu) {
    *cpu = ip_cpu_number();
    return ip_ticks();
}

#define WOKEN 3 /* as long for an answer of somebody who has to wake for it */

/* Waking a sleeping CPU costs 50 us, so stay awake about as long; but not
 * while the translator waits for this very CPU, and, where other programs want
 * the CPUs, less if waiting was in vain before. */
struct patience {
    const u64 *cpu; /* where who answers runs */
    u32 shift;      /* a hint, so threads may race */
};

static bool spin(const struct ip_slot *s, u64 began, u64 limit, struct patience *p) {
    if (!limit || s->cpu == __atomic_load_n(p->cpu, __ATOMIC_RELAXED)) return false;
    do {
        if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == IP_S_DONE) {
            if (p->shift) p->shift--;
            return true;
        }
        __builtin_ia32_pause();
    } while (ip_ticks() - began < limit >> (rt.chan->spin_whole ? 0 : p->shift));
    if (p->shift < 4) p->shift++;
    return false;
}

static void wait_answer(struct ip_slot *s, u64 began, u64 limit, struct patience *p) {
    if (spin(s, began, limit, p)) return;
    __atomic_store_n(&s->waiting, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        u32 st = __atomic_load_n(&s->state, __ATOMIC_SEQ_CST);
        if (st == IP_S_DONE) break;
        struct __kernel_timespec t = {0, WAIT_NS};
        long r = sys6(__NR_futex, (long)&s->state, FUTEX_WAIT, st, (long)&t, 0, 0);
        if (r == -ETIMEDOUT && rt_supervisor_gone()) rt_end_alone();
    }
    __atomic_store_n(&s->waiting, 0, __ATOMIC_SEQ_CST);
}

static void post(struct tstate *ts, u32 kind, u64 *map, u32 *bell, u32 *sleeping, u64 limit, struct patience *p) {
    struct ip_slot *s = rt_slot(ts);
    rt_delay(IP_AT_REQUEST);
    s->kind = kind;
    s->tid = rt_th(ts)->tid;
    s->tid_guest = (u32)ts->tid_guest;
    s->vforked = rt_th(ts)->vforked;
    s->tstate = (u64)ts;
    s->pending_sig = (u64)&rt_th(ts)->pending_sig;
    u64 began = 0;
    if (rt_th(ts)->no_tsc)
        limit = 0, s->cpu = rt.chan->tr_cpu; /* so neither side stays awake */
    else
        began = ticks(&s->cpu);
    __atomic_store_n(&s->state, IP_S_POSTED, __ATOMIC_SEQ_CST);
    u32 i = rt_th(ts)->slot;
    __atomic_fetch_or(&map[i / 64], 1ull << (i % 64), __ATOMIC_SEQ_CST);
    __atomic_fetch_add(bell, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(sleeping, __ATOMIC_SEQ_CST)) {
        sys6(__NR_futex, (long)bell, FUTEX_WAKE, 1, 0, 0, 0);
        limit *= WOKEN; /* it will be awake in a moment; to sleep just before would mean to be woken, too */
    }
    wait_answer(s, began, limit, p);
    rt_delay(IP_AT_ANSWERED);
    __atomic_store_n(&s->state, IP_S_IDLE, __ATOMIC_RELEASE);
}

void rt_request_translator(struct tstate *ts, u32 kind) {
    static struct patience p;
    p.cpu = &rt.chan->tr_cpu;
    post(ts, kind, rt.chan->pend_tr, &rt.chan->bell_tr, &rt.chan->tr_sleeping, rt.chan->spin, &p);
}

void rt_request_python(struct tstate *ts, u32 kind) {
    static u64 seen;
    static struct patience p;
    p.cpu = &rt.chan->py_cpu;
    /* Hooks come one after the other; all else is rare. */
    u64 limit = kind == IP_R_HOOK ? rt.chan->spin : 0;
    post(ts, kind, rt.chan->pend_py, &rt.chan->bell_py, &rt.chan->py_sleeping, limit, &p);
    rt_th(ts)->vforked.known = rt_slot(ts)->vforked.known;
    /* Python may have changed bindings and dropped translations. */
    u64 gen = __atomic_load_n(&rt.chan->fast_gen, __ATOMIC_ACQUIRE);
    if (gen != __atomic_load_n(&seen, __ATOMIC_ACQUIRE)) {
        rt_flush_fast();
        /* Not before: another thread that waited, too, would go on amid it, by what was dropped for its own request. */
        __atomic_store_n(&seen, gen, __ATOMIC_RELEASE);
    }
}

static void say(struct tstate *ts, u32 how, const char *fmt, va_list ap) {
    struct ip_slot *s = rt_slot(ts);
    s->len = (u32)rt_vsnprintf((char *)s->data, IP_SLOT_DATA, fmt, ap);
    s->a[0] = how;
    rt_request_python(ts, IP_R_MESSAGE);
}

void rt_note(struct tstate *ts, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say(ts, IP_SAY_PLAIN, fmt, ap);
    va_end(ap);
}

void rt_warn(struct tstate *ts, const char *fmt, ...) {
    va_list ap;
    if (!rt.chan->verbosity) return;
    va_start(ap, fmt);
    say(ts, IP_SAY_WARN, fmt, ap);
    va_end(ap);
}

void rt_say(struct tstate *ts, u32 how, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say(ts, how, fmt, ap);
    va_end(ap);
}
