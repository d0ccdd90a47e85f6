/* The end of a run by a fault of ours: where it was, the block, and how to report it. */
#include <asm/unistd.h>

#include "runtime/core/core.h"
#include "runtime/base/rt.h"

static void __attribute__((format(printf, 1, 2))) line(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    rt_vline("", fmt, ap);
    va_end(ap);
}

const u64 *rt_panic_host;

static void panic_registers(const u64 r[16]) {
    static const char names[16][4] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                      "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    for (int i = 0; i < 16; i += 4)
        line("  %3s 0x%016lx  %3s 0x%016lx  %3s 0x%016lx  %3s 0x%016lx", names[i], r[i], names[i + 1], r[i + 1],
             names[i + 2], r[i + 2], names[i + 3], r[i + 3]);
}

static void panic_state(const struct tstate *ts) {
    if (rt_panic_host) {
        line("  registers of the runtime:");
        panic_registers(rt_panic_host);
    }
    line("  guest pc 0x%lx, thread %lu, rflags 0x%lx, target 0x%lx, exit %u, umask 0x%lx", ts->pc, ts->tid_guest,
         ts->rflags, ts->target, ts->exit_id, ts->umask);
    panic_registers(ts->gpr);
}

static void panic_block(const struct tstate *ts) {
    if (ts->target < IP_CACHE_BASE || ts->target >= IP_CACHE_BASE + (u64)IP_CACHE_MAX) return;
    const struct ip_block *b = rt_block_of(ts->target);
    if (b == NULL) return;
    line("  block of 0x%lx: key 0x%lx, host 0x%x + 0x%x, %u instructions, state %u", ts->target, b->key, b->host,
         b->host_len, b->n_insns, b->live);
}

/* The block in its stages, by the supervisor, unless it is what fails. */
static void panic_stages(struct tstate *ts) {
    struct ip_slot *s = rt_slot(ts);
    if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) != IP_S_IDLE) return; /* a request is under way */
    const struct ip_block *b = ts->target - IP_CACHE_BASE < (u64)IP_CACHE_MAX ? rt_block_of(ts->target) : NULL;
    s->a[0] = b != NULL ? b->key : ts->pc;
    s->len = 0;
    rt_leaving = true;
    rt_request_python(ts, IP_R_INTERNAL);
}

void rt_panic(struct tstate *ts, const char *fmt, ...) {
    static u32 panicking; /* a fault while reporting must not report again */
    char what[1024];
    va_list ap;
    va_start(ap, fmt);
    rt_vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    line("interpose: internal error: %s; please report this with the lines below and the program's name", what);
    if (ts != NULL && __atomic_exchange_n(&panicking, 1, __ATOMIC_RELAXED) == 0) {
        panic_state(ts);
        panic_block(ts);
        panic_stages(ts);
    }
    for (;;) sys1(__NR_exit_group, 1);
}
