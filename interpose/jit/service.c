/* The translator thread: answers the client's requests without Python. */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "abi/tstate.h"
#include "jit/keep.h"
#include "jit/crowd.h"
#include "jit/lastwords.h"
#include "abi/inline/delay.h"
#include "abi/inline/ticks.h"
#include "jit/transtab.h"
#include "jit/watch.h"

static struct transtab T = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_t thread;
static volatile int stopping;
static int running;
static uint64_t asked; /* the flags that each program begins with */

int ip_has_fsgsbase(void) { return getauxval(AT_HWCAP2) >> 1 & 1; /* HWCAP2_FSGSBASE */ }

static long futex(uint32_t *addr, int op, uint32_t val, const struct timespec *ts) {
    return syscall(SYS_futex, addr, op, val, ts, NULL, 0);
}

static uint64_t clock_now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct ip_slot *slot_at(int i) {
    return (struct ip_slot *)((uint8_t *)T.chan + IP_CHAN_SLOTS + (size_t)i * IP_SLOT_SIZE);
}

/* Python's answers need the lock, and may be waited for.  Who works ahead would take it again and again before a
 * sleeper has woken, so it lets those go first who say that they want it. */
static uint32_t wanted;

static void lock_soon(void) {
    __atomic_fetch_add(&wanted, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&T.lock);
    __atomic_fetch_sub(&wanted, 1, __ATOMIC_SEQ_CST);
}

void ip_delay(int at) {
    uint64_t ns = T.chan ? ip_delay_ns(T.chan, (uint32_t)at) : 0;
    if (ns == 0) return;
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (nanosleep(&t, &t) < 0 && errno == EINTR) {}
}

static void answer(struct ip_slot *s) {
    __atomic_store_n(&s->state, IP_S_DONE, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&s->waiting, __ATOMIC_SEQ_CST)) futex(&s->state, FUTEX_WAKE, 1, NULL);
}

#define BATCH 6 /* made before the answer, where the client could not run beside us */

static uint64_t client_cpu = ~0ull, my_cpu;
static uint64_t hook_cpu = ~0ull; /* where the thread of the last request ran, if that was of a hook */

static uint64_t ticks(void) {
    my_cpu = ip_cpu_number();
    return ip_ticks();
}

/* Both on one CPU: whoever waits must leave it to the other. */
static bool share_cpu(void) { return !T.chan->spin || client_cpu == my_cpu; }

static void handle(struct ip_slot *s) {
    bool full = false;
    pthread_mutex_lock(&T.lock);
    T.pid = (pid_t)T.chan->client_pid;
    T.tid = (pid_t)s->tid;
    ticks();
    client_cpu = s->cpu;
    T.chan->tr_cpu = my_cpu;
    switch (s->kind) {
    case IP_R_TRANSLATE:
        T.exec_lo = s->a[2];
        T.exec_hi = s->a[3];
        if (s->a[5]) tt_stale(&T, s->a[5]);
        T.unwrapped = s->a[6] & 1;
        T.past_break = s->a[6] >> 1 & 1;
        /* An exit from before a flush is another one by now. */
        s->r[0] = tt_request(&T, s->a[0], s->a[4] == T.meta->generation ? (uint32_t)s->a[1] : 0, &full);
        /* The client's turn comes late, so let it be worth it. */
        for (int n = 0; share_cpu() && n < BATCH && tt_ahead(&T); n++) {}
        s->r[1] = full;
        s->len = (uint32_t)T.n_new_pages * 8;
        memcpy(s->data, T.new_pages, s->len);
        break;
    case IP_R_INVALIDATE:
        s->r[0] = tt_invalidate(&T, s->a[0], s->a[1], (int)s->a[2]);
        s->r[1] = T.n_gone > IP_MAX_GONE;
        s->len = s->r[1] ? 0 : T.n_gone * (uint32_t)sizeof *T.gone;
        memcpy(s->data, T.gone, s->len);
        break;
    case IP_R_WATCHED: tt_watched(&T, s->a[0], s->a[1] != 0); break;
    case IP_R_FLUSH: tt_flush(&T); break;
    case IP_R_EXACT:
        s->r[0] = (T.opts.flags & s->a[0]) == s->a[0];
        T.opts.flags |= s->a[0];
        break;
    default: s->r[0] = 0; break;
    }
    bool tell = T.used_head != __atomic_load_n(&T.used_tail, __ATOMIC_ACQUIRE);
    pthread_mutex_unlock(&T.lock);
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

_Static_assert(sizeof T.opts.sym == sizeof T.chan->rt_symbols &&
                   sizeof T.opts.sym / sizeof T.opts.sym[0] > IP_SYM_WATCHED,
               "ORDER ip_sym: each has its place");

/* Runtime addresses reach us through the channel before the first request. */
static void fetch_symbols(void) {
    for (int i = 0; i < 32; i++) T.opts.sym[i] = T.chan->rt_symbols[i];
}

static void calm(void) {
    if (!__atomic_load_n(&T.n_often, __ATOMIC_RELAXED)) return;
    pthread_mutex_lock(&T.lock);
    tt_calm(&T, tt_now_ms());
    pthread_mutex_unlock(&T.lock);
}

static bool work_ahead(void) {
    if (T.ahead_left <= 0 || share_cpu()) return false;
    if (__atomic_load_n(&wanted, __ATOMIC_RELAXED)) {
        _mm_pause();
        return true;
    }
    pthread_mutex_lock(&T.lock);
    bool more = tt_ahead(&T);
    if (!more) tt_forget_ahead(&T);
    pthread_mutex_unlock(&T.lock);
    return more;
}

#define SPIN_NS 50000
#define LOOK_NS 10000000

static void measure_spin(uint64_t now) {
    static uint64_t limit, looked;
    if (!limit) {
        uint64_t ns = clock_now() - T.clock0;
        if (ns > 1000000) limit = T.chan->spin = (uint32_t)((now - T.tsc0) * SPIN_NS / ns);
    } else if (now - looked > limit * (LOOK_NS / SPIN_NS)) {
        looked = now;
        T.chan->spin_whole = !ip_is_crowded();
    }
}

/* Waking a sleeping CPU costs 50 us: stay awake about as long.  Less where it
 * was in vain and other programs want the CPU. */
static bool spin_for(const uint32_t *bell, uint32_t before, unsigned *shift) {
    uint64_t end = ip_ticks() + (T.chan->spin >> (T.chan->spin_whole ? 0 : *shift));
    do {
        if (__atomic_load_n(bell, __ATOMIC_ACQUIRE) != before) {
            if (*shift) --*shift;
            return true;
        }
        _mm_pause();
    } while (ip_ticks() < end);
    if (*shift < 4) ++*shift;
    return false;
}

static bool spin(uint32_t bell) {
    static unsigned shift;
    if (share_cpu()) return false;
    measure_spin(ticks());
    if (spin_for(&T.chan->bell_tr, bell, &shift)) return true;
    ticks();
    T.chan->tr_cpu = my_cpu;
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
        uint32_t bell = __atomic_load_n(&T.chan->bell_tr, __ATOMIC_SEQ_CST);
        int i = take_pending(T.chan->pend_tr);
        if (i >= 0) {
            if (!T.opts.sym[IP_SYM_EXIT]) fetch_symbols();
            handle(slot_at(i));
            continue;
        }
        if (work_ahead()) continue;
        if (spin(bell)) continue;
        if (__atomic_load_n(&T.chan->bell_tr, __ATOMIC_SEQ_CST) != bell) continue;
        __atomic_store_n(&T.chan->tr_sleeping, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&T.chan->bell_tr, __ATOMIC_SEQ_CST) == bell && !stopping) {
            struct timespec ts = {1, 0};
            futex(&T.chan->bell_tr, FUTEX_WAIT, bell, &ts);
        }
        __atomic_store_n(&T.chan->tr_sleeping, 0, __ATOMIC_SEQ_CST);
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

int ip_service_start(int chan_fd, int cache_fd, int meta_fd, const char *tool, uint64_t flags, uint64_t cache_bytes,
                     int trace_fd, const char *trace_flags, uint64_t trace_from, uint64_t trace_to) {
    int r = tt_map(&T, chan_fd, cache_fd, meta_fd);
    if (r) return r;
    if (!T.pages) tt_init_tables(&T);
    T.opts.flags = asked = flags;
    T.opts.pass = ip_find_tool_pass(tool);
    if (!T.opts.pass) return -EINVAL;
    T.opts.verify = getenv("INTERPOSE_VERIFY") != NULL;
    T.opts.random_registers = T.chan->random_registers;
    T.opts.count_blocks = T.chan->stop_after != 0;
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
    pthread_mutex_unlock(&T.lock);
}

void ip_service_lock(void) { lock_soon(); }
void ip_service_unlock(void) { pthread_mutex_unlock(&T.lock); }

void ip_service_abandon(void) {
    pthread_mutex_init(&T.lock, NULL);
    running = 0;
}

void ip_service_stop(void) {
    if (!running) return;
    stopping = 1;
    __atomic_fetch_add(&T.chan->bell_tr, 1, __ATOMIC_SEQ_CST);
    futex(&T.chan->bell_tr, FUTEX_WAKE, 1, NULL);
    pthread_join(thread, NULL);
    running = 0;
}

static void unmap_old(uint8_t *chan, uint8_t *cache, uint8_t *meta) {
    munmap(chan, IP_CHAN_SLOTS + (size_t)IP_SLOTS * IP_SLOT_SIZE);
    munmap(cache, IP_CACHE_MAX);
    munmap(meta, IP_META_MAX);
}

/* Give [off, off + len) of a mapped memory file to another. A write fills fresh pages at once; stores into a
 * mapping would fault for each, and have it cleared first. */
static int copy_part(int fd, const uint8_t *from, size_t off, size_t len) {
    while (len) {
        ssize_t n = pwrite(fd, from + off, len, (off_t)off);
        if (n <= 0) return n < 0 ? -errno : -EIO;
        off += (size_t)n;
        len -= (size_t)n;
    }
    return 0;
}

/* The same without the holes of the file: to look at one through the mapping would fill it. */
static int copy_sparse(int fd, int old_fd, const uint8_t *from, size_t off, size_t len) {
    off_t end = (off_t)(off + len), at = (off_t)off;
    while ((at = lseek(old_fd, at, SEEK_DATA)) >= 0 && at < end) {
        off_t hole = lseek(old_fd, at, SEEK_HOLE);
        if (hole < 0) return -errno;
        if (hole > end) hole = end;
        int r = copy_part(fd, from, (size_t)at, (size_t)(hole - at));
        if (r) return r;
        at = hole;
    }
    return at >= 0 || errno == ENXIO ? 0 : -errno; /* ENXIO: only a hole is left */
}

static int copy_tables(int cache_fd, int meta_fd, int old_meta_fd, const uint8_t *cache, const uint8_t *meta) {
    const struct ip_meta *m = (const void *)meta;
    const size_t parts[][2] = {
        {0, sizeof *m},
        {IP_META_EXITS, sizeof *T.exits * m->n_exits},
        {IP_META_BLOCKS, sizeof *T.blocks * m->n_blocks},
        {IP_META_POINTS, m->points_used},
        {IP_META_PCS, m->pcs_used},
        {IP_META_DESC, m->desc_used},
    };
    int r = copy_part(cache_fd, cache, 0, m->cache_used);
    if (!r) r = copy_part(cache_fd, cache, IP_COLD_BASE - IP_CACHE_BASE, m->cold_used);
    if (!r) r = copy_part(cache_fd, cache, IP_TRACE_BASE - IP_CACHE_BASE, m->trace_used);
    for (size_t i = 0; !r && i < sizeof parts / sizeof *parts; i++)
        r = copy_part(meta_fd, meta, parts[i][0], parts[i][1]);
    return r ? r : copy_sparse(meta_fd, old_meta_fd, meta, IP_META_TT, sizeof *T.tt << IP_META_TTBITS);
}

/* Called with the lock held by the fork wrapper; the parent's thread is not here. */
int ip_service_refork(int chan_fd, int cache_fd, int meta_fd, int old_meta_fd) {
    uint8_t *oc = (uint8_t *)T.chan, *ok = T.cache, *om = T.meta_base;
    pthread_mutex_init(&T.lock, NULL);
    running = 0;
    int r = copy_tables(cache_fd, meta_fd, old_meta_fd, ok, om);
    if (!r) r = tt_map(&T, chan_fd, cache_fd, meta_fd);
    if (r) return r;
    memcpy(T.chan, oc, sizeof(struct ip_chan));
    memset(T.chan->left_files, 0, sizeof T.chan->left_files); /* the parent's */
    memset(T.chan->pend_tr, 0, sizeof T.chan->pend_tr);
    memset(T.chan->pend_py, 0, sizeof T.chan->pend_py);
    T.chan->client_pid = 0;
    T.chan->slots_used = 0;
    T.chan->supervisor_pid = (uint32_t)getpid();
    T.chan->tr_sleeping = T.chan->py_sleeping = 0;
    unmap_old(oc, ok, om);
    return start_thread();
}

int ip_service_reset(int chan_fd, int cache_fd, int meta_fd) {
    ip_service_stop();
    uint8_t *oc = (uint8_t *)T.chan, *ok = T.cache, *om = T.meta_base;
    int r = tt_map(&T, chan_fd, cache_fd, meta_fd);
    if (r) return r;
    unmap_old(oc, ok, om);
    tt_forget_pages(&T);
    tt_forget_blocks(&T);
    memset(T.bind, 0, sizeof *T.bind * T.bind_cap);
    T.bind_n = 0;
    memset(T.bound_pages, 0, sizeof T.bound_pages);
    T.stable.n = T.keeps_stack.n = 0;
    memset(T.opts.sym, 0, sizeof T.opts.sym);
    keep_forget(&T);
    T.opts.flags &= ~(uint64_t)(IP_C_EXACT | IP_C_JUMPS); /* another program, without handlers */
    T.opts.flags |= asked & IP_C_EXACT;
    return start_thread();
}

/* ---- What outlasts the run (Python) -------------------------------------------------------- */

int ip_keep_start(int writes, int folder, uint64_t max_bytes) {
    struct keeping *k = ip_alloc(1, sizeof *k);
    k->writes = writes != 0;
    k->max_bytes = max_bytes;
    k->flags = T.opts.flags;
    k->notes = (struct note_store){.folder = folder, .fd = -1};
    k->note = ip_reserve(sizeof *k->note * IP_META_BLKMAX);
    lock_soon();
    T.keep = k;
    pthread_mutex_unlock(&T.lock);
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
    pthread_mutex_unlock(&T.lock);
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
    pthread_mutex_unlock(&T.lock);
    return kept;
}

/* At the end, which must not wait for a translation that never does. */
static bool lock_in_time(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    return T.keep && pthread_mutex_timedlock(&T.lock, &until) == 0;
}

uint64_t ip_keep_fresh(uint64_t lo, uint64_t hi) {
    uint64_t n = 0;
    if (!lock_in_time()) return 0;
    for (uint32_t i = 0; i < T.meta->n_blocks; i++) {
        uint64_t pc = T.blocks[i].key & IP_KEY_PC;
        n += T.keep->note[i] != 0 && T.blocks[i].live && pc >= lo && pc < hi;
    }
    for (int i = 0; n && i < T.keep->n_seg; i++)
        if (T.keep->seg[i].lo == lo && (T.keep->seg[i].stale || T.keep->seg[i].damaged)) n += IP_KEEP_SPOILT;
    pthread_mutex_unlock(&T.lock);
    return n;
}

int64_t ip_keep_save(uint64_t lo, uint64_t hi, int old_fd, int new_fd) {
    if (!lock_in_time()) return 0;
    int64_t n = keep_save(&T, lo, hi, old_fd, new_fd);
    pthread_mutex_unlock(&T.lock);
    return n;
}

uint32_t ip_keep_damaged(void) { return T.keep ? T.keep->damaged : 0; }

void ip_service_memory(int fd) {
    lock_soon();
    T.mem = fd;
    pthread_mutex_unlock(&T.lock);
}

int ip_descriptor_of(int pidfd, int fd) {
    long own = syscall(SYS_pidfd_getfd, pidfd, fd, 0);
    return own < 0 ? -errno : (int)own;
}

struct ip_chan *ip_service_chan(void) { return T.chan; }
struct ip_slot *ip_service_slot(int i) { return slot_at(i); }

int ip_live_slots(uint32_t *out, int max) {
    int n = 0;
    /* To read the others would make pages of them, 16 MiB. */
    uint64_t used = T.chan->slots_used < IP_SLOTS ? T.chan->slots_used : IP_SLOTS;
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
        struct binding *n = ip_alloc(cap, sizeof *n);
        for (uint32_t i = 0; i < T.bind_cap; i++)
            if (T.bind[i].used == 1) bind_insert(n, cap, &T.bind[i]);
        free(T.bind);
        T.bind = n;
        T.bind_cap = cap;
    }
    tt_drop_containing(&T, b->addr);
    if (!tt_binding(&T, b->addr)) T.bind_n++;
    bind_insert(T.bind, T.bind_cap, b);
    T.bound_pages[bound_page(b->addr) / 64] |= 1ull << bound_page(b->addr) % 64;
    if (b->user) T.chan->user_bindings = 1;
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
    if (T.stats.invalidated != dropped_before) T.chan->fast_gen++;
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
    pthread_mutex_unlock(&T.lock);
}

void ip_bindings_del(uint64_t n, const uint64_t *addr) {
    lock_soon();
    uint64_t dropped = T.stats.invalidated;
    for (uint64_t i = 0; i < n; i++) del_binding(addr[i]);
    forget_fast(dropped);
    pthread_mutex_unlock(&T.lock);
}

/* No list is like the one before, so that a thread cannot take the one for the other (requests.c). */
void ip_ahead_set(uint32_t n, const uint64_t *resolver, const uint64_t *target) {
    uint64_t list = (T.chan->ahead_state >> 32) + 1, most = sizeof T.chan->ahead / sizeof T.chan->ahead[0];
    if (n > most) n = (uint32_t)most;
    for (uint32_t i = 0; i < n; i++) T.chan->ahead[i] = (struct ip_ahead){resolver[i], target[i]};
    __atomic_store_n(&T.chan->ahead_state, list << 32 | (uint64_t)n << 16, __ATOMIC_SEQ_CST);
}

uint32_t ip_ahead_end(void) {
    uint64_t list = T.chan->ahead_state >> 32 << 32;
    return (uint32_t)(__atomic_exchange_n(&T.chan->ahead_state, list, __ATOMIC_SEQ_CST) & 0xffff);
}

/* ---- A debugger's (Python) --------------------------------------------------------------- */

void ip_breakpoint(uint64_t pc, int set) {
    lock_soon();
    tt_set_break(&T, pc, set != 0);
    T.chan->fast_gen++;
    pthread_mutex_unlock(&T.lock);
}

void ip_watching(int on) {
    lock_soon();
    T.watching = on != 0;
    for (uint32_t i = 0; i < T.meta->n_blocks; i++) tt_drop_block(&T, i);
    T.chan->fast_gen++;
    pthread_mutex_unlock(&T.lock);
}

void ip_code_written(uint64_t addr, uint64_t len) {
    lock_soon();
    tt_invalidate(&T, addr, len, IP_INVALID_CHANGED);
    T.chan->fast_gen++;
    pthread_mutex_unlock(&T.lock);
}

/* As the runtime kicks its threads (runtime/signals/signal.c, send_kick). */
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
    pthread_mutex_unlock(&T.lock);
}

void ip_stable_add(uint64_t lo, uint64_t hi) { change_ranges(tt_ranges_add, &T.stable, lo, hi); }
void ip_stable_del(uint64_t lo, uint64_t hi) { change_ranges(tt_ranges_del, &T.stable, lo, hi); }
void ip_keeps_stack_add(uint64_t lo, uint64_t hi) {
    change_ranges(tt_ranges_add, &T.keeps_stack, lo, hi);
    T.chan->keeps_stack = 1;
}
void ip_keeps_stack_del(uint64_t lo, uint64_t hi) { change_ranges(tt_ranges_del, &T.keeps_stack, lo, hi); }

/* ---- Python's side of the channel ---------------------------------------------------------- */

/* After a hook the next request of its thread is near: as spin() does for the translator. */
static bool spin_for_hook(uint32_t bell) {
    static unsigned shift;
    return T.chan->spin && hook_cpu != ip_cpu_number() && spin_for(&T.chan->bell_py, bell, &shift);
}

static int took(int slot) {
    bool hook = slot_at(slot)->kind == IP_R_HOOK;
    hook_cpu = hook ? slot_at(slot)->cpu : ~0ull;
    if (hook) T.chan->py_cpu = ip_cpu_number();
    return slot;
}

int ip_next_event(int timeout_ms) {
    struct timespec end, now;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += timeout_ms / 1000;
    end.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    for (;;) {
        uint32_t bell = __atomic_load_n(&T.chan->bell_py, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&T.used_head, __ATOMIC_ACQUIRE) != T.used_tail) return IP_EVENT_USED;
        int i = take_pending(T.chan->pend_py);
        if (i >= 0) return took(i);
        if (ip_heard()) return IP_EVENT_HEARD;
        if (hook_cpu != ~0ull && spin_for_hook(bell)) continue;
        hook_cpu = ~0ull;
        __atomic_store_n(&T.chan->py_sleeping, 1, __ATOMIC_SEQ_CST);
        clock_gettime(CLOCK_MONOTONIC, &now);
        long long left = (end.tv_sec - now.tv_sec) * 1000000000ll + (end.tv_nsec - now.tv_nsec);
        if (left <= 0) {
            __atomic_store_n(&T.chan->py_sleeping, 0, __ATOMIC_SEQ_CST);
            return -1;
        }
        struct timespec ts = {left / 1000000000ll, left % 1000000000ll};
        long r = futex(&T.chan->bell_py, FUTEX_WAIT, bell, &ts);
        __atomic_store_n(&T.chan->py_sleeping, 0, __ATOMIC_SEQ_CST);
        if (r < 0 && errno == EINTR) return -1; /* let Python run its signal handlers */
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

void ip_wake_python(void) {
    __atomic_fetch_add(&T.chan->bell_py, 1, __ATOMIC_SEQ_CST);
    futex(&T.chan->bell_py, FUTEX_WAKE, 1, NULL);
}

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
    lock_soon();
    int n = ip_newest_stages(buf, cap);
    pthread_mutex_unlock(&T.lock);
    return n;
}

/* ---- Stages of any bytes ------------------------------------------------------------------------ */

struct bytes_reader {
    const uint8_t *code;
    uint64_t pc;
    size_t n;
};

static int read_bytes(void *ctx, uint64_t pc, uint8_t *buf, int n) {
    const struct bytes_reader *r = ctx;
    if (pc < r->pc || pc >= r->pc + r->n) return 0;
    size_t left = (size_t)(r->pc + r->n - pc);
    if ((size_t)n > left) n = (int)left;
    memcpy(buf, r->code + (pc - r->pc), (size_t)n);
    return n;
}

struct shown {
    struct ublock b[3]; /* of stages 1 and 2, 3 and 4, 5 */
    struct ip_insn insn[UB_MAX_INSN];
    struct emitted em;
    const struct ublock *final;
    char why[200]; /* the verifier refused it */
};

static int show(const char *tool, const uint8_t *code, size_t n, uint64_t pc, uint64_t flags, int track, int stage,
                int max_insns, uint32_t host, struct shown *out) {
    struct bytes_reader br = {code, pc, n};
    struct ip_code_reader rd = {.read = read_bytes, .ctx = &br};
    struct ip_jit_opts o = {0};
    o.flags = flags;
    o.pass = ip_find_tool_pass(tool);
    if (!o.pass) return -1;
    for (int i = 0; i < 32; i++) o.sym[i] = IP_RT_BASE + 0x1000u + 16u * (unsigned)i;
    struct ublock *b = out->b;
    for (int i = 0; i < 3; i++) b[i].insn = out->insn;
    int r = 0;
    b[0].key = pc | (track ? IP_KEY_TRACK : 0);
    b[0].pc = pc;
    b[0].track = track != 0;
    ip_stage1_disassemble(&b[0], &rd, &o, max_insns);
    if (stage >= 2) ip_stage2_optimise(&b[0], &rd, &o);
    if (stage >= 3) ip_stage3_instrument(&b[0], &b[1], &o);
    if (stage >= 4) ip_stage4_cleanup(&b[1], &o);
    if (stage >= 5) ip_stage5_allocate(&b[1], &b[2], &o);
    out->final = stage <= 2 ? &b[0] : stage <= 4 ? &b[1] : &b[2];
    if (!out->final->overflow && !ip_verify(out->final, stage < 5 ? stage : 5, out->why, sizeof out->why)) return -2;
    if (stage >= 6) ip_stage6_emit(&b[2], &out->em, host, 0, &o);
    if (b[0].overflow || (stage >= 5 && b[2].overflow) || (stage >= 6 && out->em.overflow)) r = -1;
    return r;
}

/* Hex; a line begins at each host address where the guest's state changes its
 * place, with that address and the guest's pc. */
static int print_code(const struct ublock *b, const struct emitted *em, char *buf, int cap) {
    int r = 0, point = 0, column = 0;
    for (uint32_t i = 0; i < em->len && r < cap - 64; i++) {
        const struct ip_point *p = point < em->n_points ? &em->points[point] : NULL;
        if (p && p->host_off == i) {
            const struct ip_insn *last = &b->insn[b->n_insn - 1];
            uint64_t pc = p->guest_off < b->n_insn ? b->insn[p->guest_off].pc : last->pc + last->len;
            r += snprintf(buf + r, (size_t)(cap - r), "%s   0x%x (0x%llx):", i ? "\n" : "", em->place.host + i,
                          (unsigned long long)pc);
            point++;
            column = 0;
        }
        if (column == 16) {
            r += snprintf(buf + r, (size_t)(cap - r), "\n       ");
            column = 0;
        }
        r += snprintf(buf + r, (size_t)(cap - r), " %02x", em->code[i]);
        column++;
    }
    r += snprintf(buf + r, (size_t)(cap - r), "\n");
    return r;
}

int ip_show_stage(const char *tool, const uint8_t *code, size_t n, uint64_t pc, uint64_t flags, int track, int stage,
                  char *buf, int cap) {
    struct shown *s = calloc(1, sizeof *s);
    const struct emitted *em = &s->em;
    if (!s) return -1;
    int max = flags & IP_C_SINGLE_STEP ? 1 : block_insns(flags);
    int r = show(tool, code, n, pc, flags, track, stage, max, IP_CACHE_BASE, s);
    if (r == -2) snprintf(buf, (size_t)cap, "%s", s->why);
    if (r == 0 && stage < 6) r = ip_print_ublock(s->final, buf, cap);
    if (r == 0 && stage == 6) r = print_code(s->final, em, buf, cap);
    free(s);
    return r;
}

int ip_translate_bytes(const char *tool, const uint8_t *code, size_t n, uint64_t pc, uint64_t flags, int track,
                       int max_insns, uint32_t host, uint8_t *out, int cap) {
    struct shown *s = calloc(1, sizeof *s);
    const struct emitted *em = &s->em;
    if (!s) return -1;
    int r = show(tool, code, n, pc, flags, track, 6, max_insns, host, s);
    if (r == 0) {
        r = (int)em->len <= cap ? (int)em->len : -1;
        if (r > 0) memcpy(out, em->code, (size_t)r);
    }
    free(s);
    return r;
}
