/* The runtime's services for a hosted build of interpose/shadow, so that its
 * sources can be tested from Python.  Errors are collected, not sent. */
#define _GNU_SOURCE
#include <signal.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "heap/heap.h"
#include "requests/requests.h"
#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/signals/signals.h"
#include "shadow/shadow.h"
#include "tools/memcheck/client/memcheck.h"

#define MAX_ERRORS 4096

struct rt_global rt;
static struct ip_chan chan;
static struct ip_slot slot;
struct rt_seg *rt_segs;
u32 rt_nsegs;
char *rt_paths;

rt_lock_t sh_uring_lock; /* io_uring.c needs the tests of system calls */

struct ip_error t_errors[MAX_ERRORS];
u32 t_n_errors;
char t_message[256];
u64 t_maps_fail;

size_t rt_strlen(const char *s) { return strlen(s); }
int rt_snprintf(char *buf, size_t n, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int r = vsnprintf(buf, n, fmt, ap);
    va_end(ap);
    return r;
}
void rt_die(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}
void *rt_pages(u64 bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? (abort(), NULL) : p;
}
void rt_free_pages(void *p, u64 bytes) { munmap(p, bytes); }
long rt_host_map_from(u64 at, u64 bytes, u32 prot, u32 flags, int fd, u64 place) {
    void *p = mmap((void *)at, bytes, (int)prot, (int)flags, fd, (long)place);
    return p == MAP_FAILED ? -errno : (long)p;
}
long rt_host_map(u64 at, u64 bytes, u32 prot, u32 flags, int fd) {
    return rt_host_map_from(at, bytes, prot, flags, fd, 0);
}

/* No objects here: operator new ends the program. */
u64 rt_find_function(struct tstate *ts, const char *name) {
    (void)ts, (void)name;
    return 0;
}

void rt_lock(rt_lock_t *l) {
    while (__atomic_exchange_n(&l->word, 1, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
}
/* No thread but the one that asks. */
struct tstate *rt_thread_by_index(u32 i) {
    (void)i;
    return NULL;
}
bool rt_alone;
u64 rt_stacks_changed;
char rt_heap_stub[1]; /* entered by translated code only */
bool rt_trylock(rt_lock_t *l) { return !__atomic_exchange_n(&l->word, 1, __ATOMIC_ACQUIRE); }
bool rt_trylock_soon(rt_lock_t *l) { return rt_trylock(l); }
void rt_unlock(rt_lock_t *l) { __atomic_store_n(&l->word, 0, __ATOMIC_RELEASE); }

static u64 next_map = IP_CLIENT_LO;
u64 t_map_at(u64 at, u64 len) {
    void *p = mmap((void *)at, len, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? 0 : (u64)p;
}
struct ip_heap_block *t_block(u32 index) { return heap_block(index); }
u64 rt_map_client(u64 hint_low, u64 len, int prot) {
    (void)hint_low;
    (void)prot;
    if (t_maps_fail) return 0;
    len = RT_ROUND_UP(len, RT_PAGE);
    u64 at = next_map;
    next_map += len + 16 * RT_PAGE;
    at = t_map_at(at, len);
    if (at) rt_shadow_mapped(at, len, RT_SH_DEFINED);
    return at;
}
bool rt_move_pages(u64 to, u64 from, u64 len) {
    int how = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
    return mremap((void *)from, len, len, how, (void *)to) == (void *)to;
}
/* No signals here: every report is the first of its kind. */
bool rt_told_before(struct tstate *ts, u64 addr) {
    (void)ts, (void)addr;
    return false;
}

/* No debugger. */
void rt_debug_told(struct tstate *ts, u64 pc, u64 sp) { (void)ts, (void)pc, (void)sp; }
bool rt_debug_was_told(struct tstate *ts, u64 pc, u64 sp) {
    (void)ts, (void)pc, (void)sp;
    return false;
}

/* And no client call. */
bool rt_call_is_silent(struct tstate *ts) {
    (void)ts;
    return false;
}

bool rt_overflows_stack(struct tstate *ts, u64 addr) {
    (void)ts, (void)addr;
    return false;
}
bool rt_find_seg(u64 addr, struct rt_seg *out) {
    (void)addr;
    (void)out;
    return false;
}
bool rt_next_seg(u64 addr, struct rt_seg *out) { /* everything is mapped */
    *out = (struct rt_seg){.lo = addr & -RT_PAGE, .hi = IP_CLIENT_END};
    return addr < IP_CLIENT_END;
}
struct ip_slot *rt_slot(struct tstate *ts) {
    (void)ts;
    return &slot;
}
void rt_callstack_drop(struct tstate *ts, u64 lo, u64 sp) { (void)ts, (void)lo, (void)sp; }
void rt_callstack_leave(struct tstate *ts, u64 lo, u64 hi, u64 sp, bool stays) {
    (void)ts, (void)lo, (void)hi, (void)sp, (void)stays;
}
void rt_callstack_return(struct tstate *ts, u64 sp) { (void)ts, (void)sp; }
bool rt_callstack_is_moved(const struct tstate *ts, const struct ip_csent *e, u64 sp) {
    return (void)ts, (void)e, (void)sp, false;
}
void rt_callstack_looked(struct tstate *ts, const struct ip_csent *last, u32 shown) {
    (void)ts, (void)last, (void)shown;
}

void rt_note(struct tstate *ts, const char *fmt, ...) {
    (void)ts;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(t_message, sizeof t_message, fmt, ap);
    va_end(ap);
}

void rt_warn(struct tstate *ts, const char *fmt, ...) {
    (void)ts;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(t_message, sizeof t_message, fmt, ap);
    va_end(ap);
}

void rt_say(struct tstate *ts, u32 how, const char *fmt, ...) {
    (void)ts, (void)how;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(t_message, sizeof t_message, fmt, ap);
    va_end(ap);
}

void rt_request_python(struct tstate *ts, u32 kind) {
    (void)ts;
    if (kind == IP_R_ERROR && t_n_errors < MAX_ERRORS)
        memcpy(&t_errors[t_n_errors++], slot.data, sizeof(struct ip_error));
    if (kind == IP_R_MESSAGE) snprintf(t_message, sizeof t_message, "%.*s", (int)slot.len, (char *)slot.data);
}

static void on_fault(int sig, siginfo_t *info, void *context) {
    ucontext_t *uc = context;
    u64 rip = (u64)uc->uc_mcontext.gregs[REG_RIP];
    (void)info;
    if (rip >= (u64)rt_copy_begin && rip < (u64)rt_copy_end) {
        uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(u64)rt_copy_fault;
        return;
    }
    signal(sig, SIG_DFL);
}

/* A fresh thread state whose stack is [lo, hi) with RSP at sp. */
struct tstate *t_init(u64 flags) {
    static u8 initialised;
    /* Each time: tests of the translator's service, in the same process, set handlers of their own. */
    struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &sa, NULL);
    if (!initialised) {
        initialised = 1;
        rt.chan = &chan;
        rt.flags = flags;
        rt.runtime_fd = 500;
        chan.redzone = 16;
        chan.max_stackframe = 2000000;
        chan.alignment = 16;
        chan.freelist_vol = 20000000;
        chan.freelist_big = 1000000;
        chan.num_callers = 12;
        chan.errors_until = ~0ull;
        chan.error_frames = 4;
        chan.malloc_fill = chan.free_fill = -1;
        rt_shadow_init(NULL);
    }
    rt.flags = flags;
    t_n_errors = 0;
    struct tstate *ts = aligned_alloc(64, RT_ROUND_UP(sizeof *ts, 64));
    memset(ts, 0, sizeof *ts);
    ts->cs_base = (u64)calloc(512, sizeof(struct ip_csent));
    ts->cs_top = ts->cs_base;
    ts->cs_limit = ts->cs_base + 512 * sizeof(struct ip_csent);
    return ts;
}
struct ip_chan *t_chan(void) { return &chan; }

/* Hooks of memcheck's that need more than is built here. */
bool mc_request(struct tstate *ts, u64 code, const u64 args[5], u64 *result) {
    (void)ts, (void)code, (void)args, (void)result;
    return false;
}
void mc_syscall_before(struct tstate *ts, long nr, const u64 args[6]) { (void)ts, (void)nr, (void)args; }
void mc_syscall_after(struct tstate *ts, long nr, const u64 args[6], long result) {
    (void)ts, (void)nr, (void)args, (void)result;
}
enum rt_slow sh_slow(struct tstate *ts, const struct ip_exit *x) {
    (void)ts, (void)x;
    return RT_SLOW_RESUME;
}
void sh_symbols(u64 *symbols) { (void)symbols; }
void sh_handler_enter(struct tstate *ts, u64 frame, const struct sig_context *mc) { (void)ts, (void)frame, (void)mc; }
void sh_handler_leave(struct tstate *ts, u64 frame, const struct sig_context *mc) { (void)ts, (void)frame, (void)mc; }

/* Does a block's release leave XMM0 as it is? */
bool t_released_keeps_xmm0(u64 addr, u64 len) {
    const u64 before[2] = {0x123456789abcdef, 0xfedcba987654321};
    u64 after[2];
    __asm__ volatile("movups %0, %%xmm0" : : "m"(before) : "xmm0");
    sh_block_released(addr, len, false);
    __asm__ volatile("movups %%xmm0, %0" : "=m"(after));
    return after[0] == before[0] && after[1] == before[1];
}

/* What a translated call does: push the return address and note it. */
void t_call(struct tstate *ts, u64 ret) {
    ts->gpr[IP_RSP] -= 8;
    *(u64 *)ts->gpr[IP_RSP] = ret;
    ts->cs_top += sizeof(struct ip_csent);
    *(struct ip_csent *)ts->cs_top = (struct ip_csent){ret, ts->gpr[IP_RSP] + 8};
}
