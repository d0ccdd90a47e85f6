#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/signals/sig.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/hooks.h"
#include "harness.h"

void (*on_request)(u32, const struct ip_slot *);
void (*on_shadow)(int, u64, u64);
void (*on_invalidate)(u64, u64);
u64 invalidations;
static struct ip_slot slot;

static void print(const char *fmt, va_list ap) {
    char text[2048];
    int n = rt_vsnprintf(text, sizeof text, fmt, ap);
    sys3(__NR_write, 1, (long)text, n);
}

void say(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    print(fmt, ap);
    va_end(ap);
}

void fail(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    print("FAIL ", ap);
    print(fmt, ap);
    va_end(ap);
    sys3(__NR_write, 1, (long)"\n", 1);
    for (;;) sys1(__NR_exit_group, 3);
}

struct ip_slot *rt_slot(struct tstate *ts) {
    (void)ts;
    return &slot;
}
void rt_request_python(struct tstate *ts, u32 kind) {
    (void)ts;
    if (on_request) on_request(kind, &slot);
}
/* No supervisor that could send a file. */
rt_lock_t process_fd_lock;
void process_expect_fds(bool begin) { (void)begin; }
bool process_receive_fds(struct tstate *ts, int *fds, u32 n) {
    (void)ts, (void)fds, (void)n;
    return false;
}
void rt_watched_page(struct tstate *ts, u64 page, bool unnoticed) { (void)ts, (void)page, (void)unnoticed; }
u64 rt_dropped_blocks(void) { return 0; }
void rt_leave_blocks(struct tstate *ts) { (void)ts; }
void rt_may_write_others(u32 pid) { (void)pid; }
void rt_invalidate_traced(struct tstate *ts) { (void)ts; }
void traced_enter(struct tstate *ts) { (void)ts; } /* no tracer here */
/* Counted alike. */
void rt_invalidate_written(struct tstate *ts, u64 addr, u64 len) { rt_invalidate(ts, addr, len); }

void rt_invalidate(struct tstate *ts, u64 addr, u64 len) {
    (void)ts;
    invalidations++;
    if (on_invalidate) on_invalidate(addr, len);
}
const struct ip_block *rt_block_of(u64 host) {
    (void)host;
    return NULL;
}
bool rt_leaving;
void rt_panic(struct tstate *ts, const char *fmt, ...) {
    (void)ts;
    fail("panic: %s", fmt);
    for (;;);
}

void rt_hook_mapped(u64 addr, u64 len, int state) {
    if (state != RT_SH_DEFINED && state != RT_SH_CLOSED) fail("mapped in state %d", state);
    if (on_shadow) on_shadow(1, addr, len);
}
void rt_hook_stack_grown(struct tstate *ts, u64 lo, u64 old_lo, u64 hi) {
    (void)ts, (void)hi;
    if (on_shadow) on_shadow(1, lo, old_lo - lo);
}
void rt_hook_unmapped(u64 addr, u64 len) {
    if (on_shadow) on_shadow(-1, addr, len);
}
void rt_hook_moved(u64 from, u64 to, u64 len) {
    if (on_shadow) {
        on_shadow(-1, from, len);
        on_shadow(1, to, len);
    }
}
bool rt_hook_stack_new(u64 lo, u64 hi, u64 sp) {
    if (sp <= lo || sp >= hi) fail("stack pointer 0x%lx outside 0x%lx-0x%lx", sp, lo, hi);
    return false;
}

void harness_main(u64 *sp);
__asm__(".globl _start\n"
        "_start: mov %rsp, %rdi\n"
        "        and $-16, %rsp\n"
        "        call harness_main\n"
        "        ud2\n");
