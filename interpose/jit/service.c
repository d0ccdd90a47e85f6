/* The translator thread: answers the client's requests without Python. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "abi/tstate.h"
#include "jit/keep.h"
#include "jit/crowd.h"
#include "jit/lastwords.h"
#include "abi/inline/delay.h"
#include "abi/inline/futex.h"
#include "abi/inline/ticks.h"
#include "jit/tables.h"
#include "jit/peek.h"
#include "jit/watch.h"

static struct ip_chan *chan;
static struct transtab no_service;
static struct transtab *tables = &no_service;
#define T (*tables)
static pthread_t thread;
static volatile int stopping;
static int running;
static uint64_t asked; /* the flags that each program begins with */

int ip_has_fsgsbase(void) { return getauxval(AT_HWCAP2) >> 1 & 1; /* HWCAP2_FSGSBASE */ }

static uint64_t clock_now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct ip_slot *slot_at(int i) {
    return (struct ip_slot *)((uint8_t *)chan + IP_CHAN_SLOTS + (size_t)i * IP_SLOT_SIZE);
}

/* ---- The lock of the tables, which threads of the program take, too -------------------------------- */

#define SECOND 1000000000u /* ns */

static int client_sock = -1; /* end of file: the program is gone, and whoever was on its memory */
static int client_pidfd = -1;

void ip_service_socket(int fd) { client_sock = fd; }
void ip_service_process(int pidfd) { client_pidfd = pidfd; }

/* Who held the lock is no more: the program has executed another one, or ended, though others may be on its memory. */
static bool is_gone(uint32_t holder) {
    struct pollfd end = {.fd = client_pidfd, .events = POLLIN};
    char byte;
    if (holder == IP_SUPERVISOR) return false;
    return (client_sock >= 0 && recv(client_sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) || poll(&end, 1, 0) > 0;
}

/* False: not until then. */
static bool lock_until(uint64_t end) {
    bool taken_over = false;
    if (ip_lock_try(&T.lock, IP_SUPERVISOR)) return true;
    while (!ip_lock_wait(&T.lock, IP_SUPERVISOR, is_gone, &taken_over))
        if (clock_now() > end) return false;
    if (taken_over) T.broken = true;
    return true;
}
static void lock(void) { lock_until(~0ull); }
static void unlock(void) { ip_lock_give(&T.lock); }

/* Python's answers need the lock, and may be waited for.  Who works ahead would take it again and again before a
 * sleeper has woken, so it lets those go first who say that they want it. */
static uint32_t wanted;

static void lock_soon(void) {
    __atomic_fetch_add(&wanted, 1, __ATOMIC_SEQ_CST);
    lock();
    __atomic_fetch_sub(&wanted, 1, __ATOMIC_SEQ_CST);
}

/* ---- Requests ---------------------------------------------------------------------------------------- */

void ip_delay(int at) {
    uint64_t ns = chan ? ip_delay_ns(chan, (uint32_t)at) : 0;
    if (ns == 0) return;
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (nanosleep(&t, &t) < 0 && errno == EINTR) {}
}

static void answer(struct ip_slot *s) {
    __atomic_store_n(&s->state, IP_S_DONE, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&s->waiting, __ATOMIC_SEQ_CST)) ip_futex(&s->state, IP_FUTEX_WAKE, 1, NULL);
}

#define BATCH 6 /* made before the answer, where the client could not run beside us */

static uint64_t client_cpu = ~0ull, my_cpu;
static uint64_t hook_cpu = ~0ull; /* where the thread of the last request ran, if that was of a hook */

static uint64_t ticks(void) {
    my_cpu = ip_cpu_number();
    return ip_ticks();
}

/* Both on one CPU: whoever waits must leave it to the other. */
static bool share_cpu(void) { return !chan->spin || client_cpu == my_cpu; }

/* One more block, and room for its note. */
static bool ahead(void) {
    if (T.keep && !keep_has_room(&T.keep->notes)) keep_spill(&T.keep->notes);
    return tt_ahead(&T);
}

static void handle(struct ip_slot *s) {
    lock();
    peek_at((pid_t)chan->client_pid, (pid_t)s->tid);
    ticks();
    client_cpu = s->cpu;
    chan->tr_cpu = my_cpu;
    switch (s->kind) {
    case IP_R_TRANSLATE:
        if (T.broken) { /* a whole flush makes it good */
            s->r[0] = s->len = 0;
            s->r[1] = 1;
            break;
        }
        if (T.keep && !keep_has_room(&T.keep->notes)) keep_spill(&T.keep->notes);
        tt_serve(&T, s, s->kind);
        /* The client's turn comes late, so let it be worth it. */
        for (int n = 0; share_cpu() && n < BATCH && ahead(); n++) {}
        break;
    case IP_R_INVALIDATE:
    case IP_R_WATCHED: tt_serve(&T, s, s->kind); break;
    case IP_R_FLUSH:
        tt_flush(&T);
        T.broken = false;
        break;
    case IP_R_EXACT:
        s->r[0] = (T.opts.flags & s->a[0]) == s->a[0];
        T.opts.flags |= s->a[0];
        break;
    default: s->r[0] = 0; break;
    }
    bool tell = tt_has_used(&T);
    unlock();
    ip_delay(IP_AT_TRANSLATED);
    answer(s);
    if (tell) ip_wake_python();
}

static int take_pending(uint64_t *map) {
    for (int w = 0; w < 64; w++) {
        uint64_t v = __atomic_load_n(&map[w], __ATOMIC_RELAXED);
        if (!v) continue;
        int bit = __builtin_ctzll(v);
        uint64_t mask = 1ull << bit;
        if (__atomic_fetch_and(&map[w], ~mask, __ATOMIC_SEQ_CST) & mask) return w * 64 + bit;
    }
    return -1;
}

_Static_assert(sizeof T.opts.sym == sizeof chan->rt_symbols &&
                   sizeof T.opts.sym / sizeof T.opts.sym[0] > IP_SYM_WATCHED,
               "ORDER ip_sym: each has its place");

/* Runtime addresses reach us through the channel before the first request. */
static void fetch_symbols(void) {
    for (int i = 0; i < 32; i++) T.opts.sym[i] = chan->rt_symbols[i];
}

static void calm(void) {
    if (!__atomic_load_n(&T.n_often, __ATOMIC_RELAXED)) return;
    lock();
    tt_calm(&T, tt_now_ms());
    unlock();
}

static bool work_ahead(void) {
    if (__atomic_load_n(&T.ahead_left, __ATOMIC_RELAXED) <= 0 || share_cpu()) return false;
    if (__atomic_load_n(&wanted, __ATOMIC_RELAXED)) {
        __builtin_ia32_pause();
        return true;
    }
    lock();
    bool more = ahead();
    if (!more) tt_forget_ahead(&T);
    unlock();
    return more;
}

#define SPIN_NS 50000
#define LOOK_NS 10000000

static void measure_spin(uint64_t now) {
    static uint64_t limit, looked;
    if (!limit) {
        uint64_t ns = clock_now() - T.clock0;
        if (ns > 1000000) limit = chan->spin = (uint32_t)((now - T.tsc0) * SPIN_NS / ns);
    } else if (now - looked > limit * (LOOK_NS / SPIN_NS)) {
        looked = now;
        chan->spin_whole = !ip_is_crowded();
    }
}

/* Waking a sleeping CPU costs 50 us: stay awake about as long.  Less where it
 * was in vain and other programs want the CPU. */
static bool spin_for(const uint32_t *bell, uint32_t before, unsigned *shift) {
    uint64_t end = ip_ticks() + (chan->spin >> (chan->spin_whole ? 0 : *shift));
    do {
        if (__atomic_load_n(bell, __ATOMIC_ACQUIRE) != before) {
            if (*shift) --*shift;
            return true;
        }
        __builtin_ia32_pause();
    } while (ip_ticks() < end);
    if (*shift < 4) ++*shift;
    return false;
}

static bool spin(uint32_t bell) {
    static unsigned shift;
    if (share_cpu()) return false;
    measure_spin(ticks());
    if (spin_for(&chan->bell_tr, bell, &shift)) return true;
    ticks();
    chan->tr_cpu = my_cpu;
    return false;
}

/* Where more wants to run than there are CPUs, the client waits at each new block until it
 * is our turn.  Who asks for short turns gets them early (sched(7), since Linux 6.12). */
static void take_short_turns(void) {
    struct { /* sched_setattr(2): glibc has no name for it before 2.41 */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } a = {0};
    if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) != 0 || a.policy != 0 /* SCHED_OTHER */) return;
    a.runtime = 100000; /* ns: the shortest there is */
    syscall(SYS_sched_setattr, 0, &a, 0);
}

static void *loop(void *arg) {
    (void)arg;
    take_short_turns();
    ip_catch_faults();
    while (!stopping) {
        uint32_t bell = __atomic_load_n(&chan->bell_tr, __ATOMIC_SEQ_CST);
        int i = take_pending(chan->pend_tr);
        if (i >= 0) {
            if (!T.opts.sym[IP_SYM_EXIT]) fetch_symbols();
            handle(slot_at(i));
            continue;
        }
        if (work_ahead()) continue;
        if (spin(bell)) continue;
        if (__atomic_load_n(&chan->bell_tr, __ATOMIC_SEQ_CST) != bell) continue;
        __atomic_store_n(&chan->tr_sleeping, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&chan->bell_tr, __ATOMIC_SEQ_CST) == bell && !stopping) {
            const int64_t second[2] = {1, 0};
            ip_futex(&chan->bell_tr, IP_FUTEX_WAIT, bell, second);
        }
        __atomic_store_n(&chan->tr_sleeping, 0, __ATOMIC_SEQ_CST);
        calm();
    }
    return NULL;
}

static int start_thread(void) {
    stopping = 0;
    tt_forget_ahead(&T);
    if (!T.tsc0) {
        T.tsc0 = ip_ticks();
        T.clock0 = clock_now();
    }
    pthread_attr_t at;
    pthread_attr_init(&at);
    pthread_attr_setstacksize(&at, 1 << 20);
    int r = pthread_create(&thread, &at, loop, NULL);
    pthread_attr_destroy(&at);
    running = r == 0;
    return -r;
}

/* Who has to look at each translation does it here. */
static void choose_place(void) { T.here = T.in_place && T.trace_fd < 0; }

int ip_service_start(int chan_fd, int cache_fd, int meta_fd, const char *tool, uint64_t flags, uint64_t cache_bytes,
                     int trace_fd, const char *trace_flags, uint64_t trace_from, uint64_t trace_to) {
    int r = tables != &no_service ? tt_map_anew(&(struct memory_files){chan_fd, cache_fd, meta_fd})
                                  : tt_map(&(struct memory_files){chan_fd, cache_fd, meta_fd}, &chan, &tables);
    if (r) return r;
    T.opts.flags = asked = flags;
    tt_begin_tracing();
    snprintf(T.opts.tool, sizeof T.opts.tool, "%s", tool);
    if (!ip_tool_pass(&T.opts)) return -EINVAL;
    ip_ask_cpu(&T.opts);
    const char *verify = getenv("INTERPOSE_VERIFY");
    T.opts.verify = verify && strcmp(verify, "0") != 0;
    T.opts.random_registers = chan->random_registers;
    T.opts.count_blocks = chan->stop_after != 0;
    T.cache_bytes = cache_bytes;
    ip_service_trace(trace_fd, trace_flags, trace_from, trace_to);
    return start_thread();
}

void ip_service_trace(int fd, const char *flags, uint64_t from, uint64_t to) {
    lock_soon();
    T.trace_fd = -1;
    T.trace_from = from, T.trace_to = to;
    for (int i = 0; i < 8; i++) {
        T.trace[i] = flags[i] == '1';
        if (!flags[i]) break;
        if (T.trace[i]) T.trace_fd = fd;
    }
    choose_place();
    unlock();
}

void ip_service_lock(void) { lock_soon(); }
void ip_service_unlock(void) { unlock(); }

void ip_service_abandon(void) { running = 0; }

void ip_service_stop(void) {
    if (!running) return;
    stopping = 1;
    ip_ring(&chan->bell_tr);
    pthread_join(thread, NULL);
    running = 0;
}

/* Called with the lock held by who has forked; the parent's thread is not here. */
int ip_service_refork(int chan_fd, int cache_fd, int meta_fd, int old_meta_fd) {
    running = 0;
    int r = tt_copy(&(struct memory_files){chan_fd, cache_fd, meta_fd}, old_meta_fd);
    if (r) return r;
    memset(chan->left_files, 0, sizeof chan->left_files); /* the parent's */
    memset(chan->pend_tr, 0, sizeof chan->pend_tr);
    memset(chan->pend_py, 0, sizeof chan->pend_py);
    chan->client_pid = 0;
    chan->slots_used = 0;
    chan->supervisor_pid = (uint32_t)getpid();
    chan->tr_sleeping = chan->py_sleeping = 0;
    return start_thread();
}

int ip_service_reset(int chan_fd, int cache_fd, int meta_fd) {
    ip_service_stop();
    int r = tt_map_anew(&(struct memory_files){chan_fd, cache_fd, meta_fd});
    if (r) return r;
    T.opts.flags &= ~(uint64_t)(IP_C_EXACT | IP_C_JUMPS); /* another program, without handlers */
    T.opts.flags |= asked & IP_C_EXACT;
    return start_thread();
}

/* ---- What outlasts the run (Python) -------------------------------------------------------- */

int ip_keep_start(int writes, int folder, uint64_t max_bytes) {
    struct keeping *k = tt_keeping();
    lock_soon();
    k->writes = writes != 0;
    k->max_bytes = max_bytes;
    k->flags = T.opts.flags;
    k->notes.folder = folder;
    k->notes.fd = -1;
    T.keep = k;
    unlock();
    return 0;
}

void ip_keep_writes(int yes) {
    if (!T.keep) return;
    T.keep->writes = yes != 0;
    if (!yes) keep_notes_forget(&T.keep->notes); /* their file is that of the process that this one is a copy of */
}

/* From the program's first block on, because it once came to it: what an earlier run kept is of such blocks. */
void ip_keep_begin(int jumps) {
    if (!T.keep) return;
    lock_soon();
    if (jumps) T.opts.flags |= IP_C_JUMPS;
    T.keep->flags = (T.keep->flags & ~(uint64_t)IP_C_JUMPS) | (T.opts.flags & IP_C_JUMPS);
    unlock();
}

int ip_keeps_jumps(void) { return T.keep && (__atomic_load_n(&T.keep->flags, __ATOMIC_RELAXED) & IP_C_JUMPS) != 0; }

int64_t ip_keep_add(uint64_t lo, uint64_t hi, int fd) {
    struct segment s = {.lo = lo, .hi = hi, .fd = fd};
    int64_t kept = 0;
    lock_soon();
    if (!T.opts.sym[IP_SYM_EXIT]) fetch_symbols();
    if (fd >= 0 && !keep_open(&T, &s)) {
        keep_close(&s);
        T.keep->damaged++;
        kept = -1;
    }
    if (kept == 0) kept = s.n_names;
    keep_add(&T, &s);
    unlock();
    return kept;
}

/* At the end, which must not wait for a translation that never does; nor is what somebody left half done any good. */
static bool lock_in_time(void) {
    if (!T.keep || !lock_until(clock_now() + SECOND)) return false;
    if (T.broken) unlock();
    return !T.broken;
}

uint64_t ip_keep_fresh(uint64_t lo, uint64_t hi) {
    uint64_t n = 0;
    if (!lock_in_time()) return 0;
    const struct segment *old = keep_segment(T.keep, lo);
    bool spoilt = old && (old->stale || old->damaged);
    for (uint32_t i = 0; i < T.meta->n_blocks; i++) {
        uint64_t key = T.blocks[i].key, pc = key & IP_KEY_PC;
        if (!T.keep->note[i] || !T.blocks[i].live || pc < lo || pc >= hi) continue;
        /* What is kept under that name stays: an entry of a linkage table that is not bound yet when it is wanted. */
        n += !old || spoilt || !keep_name(old, key);
    }
    if (n && spoilt) n += IP_KEEP_SPOILT;
    unlock();
    return n;
}

int64_t ip_keep_save(uint64_t lo, uint64_t hi, int old_fd, int new_fd) {
    if (!lock_in_time()) return 0;
    int64_t n = keep_save(&T, lo, hi, old_fd, new_fd);
    unlock();
    return n;
}

uint32_t ip_keep_damaged(void) { return T.keep ? T.keep->damaged : 0; }

void ip_service_memory(int fd) { peek_by(fd); }

int ip_descriptor_of(int pidfd, int fd) {
    long own = syscall(SYS_pidfd_getfd, pidfd, fd, 0);
    return own < 0 ? -errno : (int)own;
}

struct ip_chan *ip_service_chan(void) { return chan; }
struct ip_slot *ip_service_slot(int i) { return slot_at(i); }

int ip_live_slots(uint32_t *out, int max) {
    int n = 0;
    /* To read the others would make pages of them, 16 MiB. */
    uint64_t used = chan->slots_used < IP_SLOTS ? chan->slots_used : IP_SLOTS;
    for (int i = 0; i < (int)used && n < max; i++) {
        const struct ip_slot *s = slot_at(i);
        if (s->state != IP_S_FREE && s->tstate) out[n++] = (uint32_t)i;
    }
    return n;
}

/* ---- Bindings and stable ranges (Python) ------------------------------------------------- */

static void bind_insert(struct binding *tab, uint32_t cap, const struct binding *b) {
    uint32_t h = bind_home(b->addr, cap - 1);
    while (tab[h].used == 1 && tab[h].addr != b->addr) h = (h + 1) & (cap - 1);
    tab[h] = *b;
}

static void set_binding(const struct binding *b) {
    if ((T.bind_n + 1) * 2 > T.bind_cap) {
        uint32_t cap = T.bind_cap * 2;
        struct binding *n = tt_alloc(&T, cap, sizeof *n);
        for (uint32_t i = 0; i < T.bind_cap; i++)
            if (T.bind[i].used == 1) bind_insert(n, cap, &T.bind[i]);
        tt_free(&T, T.bind, T.bind_cap * sizeof *T.bind);
        T.bind = n;
        T.bind_cap = cap;
    }
    tt_drop_containing(&T, b->addr);
    if (!tt_binding(&T, b->addr)) T.bind_n++;
    bind_insert(T.bind, T.bind_cap, b);
    T.bound_pages[bound_page(b->addr) / 64] |= 1ull << bound_page(b->addr) % 64;
    if (b->user) chan->user_bindings = 1;
}

static void del_binding(uint64_t addr) {
    tt_drop_containing(&T, addr);
    struct binding *b = (struct binding *)tt_binding(&T, addr);
    if (!b) return;
    /* Open addressing without tombstones: what stands behind the gap and belongs before it moves up. */
    uint32_t mask = T.bind_cap - 1, gap = (uint32_t)(b - T.bind);
    for (uint32_t i = (gap + 1) & mask; T.bind[i].used; i = (i + 1) & mask) {
        uint32_t home = bind_home(T.bind[i].addr, mask);
        if (((i - home) & mask) < ((i - gap) & mask)) continue;
        T.bind[gap] = T.bind[i];
        gap = i;
    }
    T.bind[gap].used = 0;
    T.bind_n--;
}

/* Most bindings are made before anything has run there: then the client's table, which takes 25 us to read, has nothing
 * of it. */
static void forget_fast(uint64_t dropped_before) {
    if (T.stats.invalidated != dropped_before) chan->fast_gen++;
}

void ip_bindings_set(uint64_t n, const uint64_t *addr, const uint64_t *target, const uint64_t *inner,
                     const uint8_t *kind) {
    lock_soon();
    uint64_t dropped = T.stats.invalidated;
    for (uint64_t i = 0; i < n; i++) {
        struct binding b = {addr[i], target[i], inner[i], kind[i] & IP_BIND_WRAP, 1, 0, (kind[i] & IP_BIND_USER) != 0};
        set_binding(&b);
    }
    forget_fast(dropped);
    unlock();
}

void ip_bindings_del(uint64_t n, const uint64_t *addr) {
    lock_soon();
    uint64_t dropped = T.stats.invalidated;
    for (uint64_t i = 0; i < n; i++) del_binding(addr[i]);
    forget_fast(dropped);
    unlock();
}

/* No list is like the one before, so that a thread cannot take the one for the other (requests.c). */
void ip_ahead_set(uint32_t n, const uint64_t *resolver, const uint64_t *target) {
    uint64_t list = (chan->ahead_state >> 32) + 1, most = sizeof chan->ahead / sizeof chan->ahead[0];
    if (n > most) n = (uint32_t)most;
    for (uint32_t i = 0; i < n; i++) chan->ahead[i] = (struct ip_ahead){resolver[i], target[i]};
    __atomic_store_n(&chan->ahead_state, list << 32 | (uint64_t)n << 16, __ATOMIC_SEQ_CST);
}

uint32_t ip_ahead_end(void) {
    uint64_t list = chan->ahead_state >> 32 << 32;
    return (uint32_t)(__atomic_exchange_n(&chan->ahead_state, list, __ATOMIC_SEQ_CST) & 0xffff);
}

/* ---- A debugger's (Python) --------------------------------------------------------------- */

void ip_breakpoint(uint64_t pc, int set) {
    lock_soon();
    tt_set_break(&T, pc, set != 0);
    chan->fast_gen++;
    unlock();
}

void ip_watching(int on) {
    lock_soon();
    T.watching = on != 0;
    for (uint32_t i = 0; i < T.meta->n_blocks; i++) tt_drop_block(&T, i);
    chan->fast_gen++;
    unlock();
}

void ip_code_written(uint64_t addr, uint64_t len) {
    lock_soon();
    tt_invalidate(&T, addr, len, IP_INVALID_CHANGED);
    chan->fast_gen++;
    unlock();
}

/* As the runtime kicks its threads (runtime/signals/signal.c, sig_kick). */
int ip_kick(int pid, int tid) {
    siginfo_t info = {.si_signo = SIGTRAP, .si_code = IP_KICK_CODE};
    info.si_pid = pid;
    info.si_value.sival_ptr = (void *)(intptr_t)IP_MAGIC;
    return syscall(SYS_rt_tgsigqueueinfo, pid, tid, SIGTRAP, &info) < 0 ? -errno : 0;
}

static void change_ranges(void (*change)(struct tt_ranges *, uint64_t, uint64_t), struct tt_ranges *r, uint64_t lo,
                          uint64_t hi) {
    lock_soon();
    change(r, lo, hi);
    unlock();
}

void ip_stable_add(uint64_t lo, uint64_t hi) { change_ranges(tt_ranges_add, &T.stable, lo, hi); }
void ip_stable_del(uint64_t lo, uint64_t hi) { change_ranges(tt_ranges_del, &T.stable, lo, hi); }
void ip_keeps_stack_add(uint64_t lo, uint64_t hi) {
    change_ranges(tt_ranges_add, &T.keeps_stack, lo, hi);
    chan->keeps_stack = 1;
}
void ip_keeps_stack_del(uint64_t lo, uint64_t hi) { change_ranges(tt_ranges_del, &T.keeps_stack, lo, hi); }

/* ---- Python's side of the channel ---------------------------------------------------------- */

/* After a hook the next request of its thread is near: as spin() does for the translator. */
static bool spin_for_hook(uint32_t bell) {
    static unsigned shift;
    return chan->spin && hook_cpu != ip_cpu_number() && spin_for(&chan->bell_py, bell, &shift);
}

static int took(int slot) {
    bool hook = slot_at(slot)->kind == IP_R_HOOK;
    hook_cpu = hook ? slot_at(slot)->cpu : ~0ull;
    if (hook) chan->py_cpu = ip_cpu_number();
    return slot;
}

int ip_next_event(int timeout_ms) {
    struct timespec end, now;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += timeout_ms / 1000;
    end.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    for (;;) {
        uint32_t bell = __atomic_load_n(&chan->bell_py, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&T.used_head, __ATOMIC_ACQUIRE) != T.used_tail) return IP_EVENT_USED;
        int i = take_pending(chan->pend_py);
        if (i >= 0) return took(i);
        if (ip_heard()) return IP_EVENT_HEARD;
        if (hook_cpu != ~0ull && spin_for_hook(bell)) continue;
        hook_cpu = ~0ull;
        __atomic_store_n(&chan->py_sleeping, 1, __ATOMIC_SEQ_CST);
        clock_gettime(CLOCK_MONOTONIC, &now);
        long long left = (end.tv_sec - now.tv_sec) * 1000000000ll + (end.tv_nsec - now.tv_nsec);
        if (left <= 0) {
            __atomic_store_n(&chan->py_sleeping, 0, __ATOMIC_SEQ_CST);
            return -1;
        }
        const int64_t wait[2] = {left / 1000000000ll, left % 1000000000ll};
        long r = ip_futex(&chan->bell_py, IP_FUTEX_WAIT, bell, wait);
        __atomic_store_n(&chan->py_sleeping, 0, __ATOMIC_SEQ_CST);
        if (r == -EINTR) return -1; /* let Python run its signal handlers */
    }
}

/* Without the lock: it is asked at the end, too, which must not wait for a translation that never ends. */
void ip_tell_first_uses(int yes) { __atomic_store_n(&T.tells_uses, yes != 0, __ATOMIC_RELAXED); }

uint64_t ip_next_used(void) {
    uint32_t tail = T.used_tail;
    if (__atomic_load_n(&T.used_head, __ATOMIC_ACQUIRE) == tail) return 0;
    uint64_t addr = T.used[tail % (sizeof T.used / sizeof *T.used)];
    __atomic_store_n(&T.used_tail, tail + 1, __ATOMIC_RELEASE);
    return addr;
}

void ip_reply(int slot) { answer(slot_at(slot)); }

void ip_wake_python(void) { ip_ring(&chan->bell_py); }

void ip_service_get_stats(struct ip_service_stats *s) {
    uint64_t ticks = ip_ticks() - T.tsc0;
    *s = T.stats;
    s->ns = ticks ? (uint64_t)((double)T.cycles * (double)(clock_now() - T.clock0) / (double)ticks) : 0;
}

uint64_t ip_newest_key(void) { return T.ub[0] ? T.ub[0]->key : 0; }

int ip_newest_stages(char *buf, int cap) {
    int n = 0;
    for (int i = 0; i < 3 && T.ub[i] && T.ub[i]->n_insn; i++) n += ip_print_ublock(T.ub[i], buf + n, cap - n);
    return n;
}

int ip_last_block(char *buf, int cap) {
    /* Who has failed may hold it. */
    bool locked = lock_until(clock_now() + SECOND);
    int n = ip_newest_stages(buf, cap);
    if (locked) unlock();
    return n;
}
