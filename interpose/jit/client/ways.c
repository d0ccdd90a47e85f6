/* What the translator asks its process for, where there is no libc. */
#include <asm/unistd.h>
#include <linux/time_types.h>

#include "jit/memory.h"
#include "jit/ways.h"
#include "runtime/base/rt.h"
#include "runtime/core/core.h"

#define CLOCK_MONOTONIC_COARSE 6

bool tt_peek(void *ctx, uint64_t at, void *out, int n) {
    (void)ctx;
    return rt_copy_from(out, at, (u64)n) == 0;
}

const struct code_copies *tt_code_copies(struct transtab *t) { return &t->copies_here; }

uint64_t tt_now_ms(void) {
    struct __kernel_timespec t = {0, 0};
    sys2(__NR_clock_gettime, CLOCK_MONOTONIC_COARSE, (long)&t);
    return (u64)t.tv_sec * 1000 + (u64)t.tv_nsec / 1000000;
}

void tt_no_room(void) { rt_die("the translator's tables are full"); }
void tt_no_code(uint64_t key, const char *name, int number) {
    rt_panic(rt_current(), "no code for %s (%d) of the block at 0x%lx", name, number, key);
}
void *ip_alloc(size_t n, size_t size) { rt_panic(rt_current(), "%lu bytes asked for in translation", n * size); }

struct ip_chan *tt_channel(void) { return rt.chan; }

static struct tt_memory *const own = (struct tt_memory *)IP_XLT_BASE;

struct tracing *tt_tracing(void) { return &own->tracing; }
void *tt_trace_scratch(void) { return own->scratch; }
bool tt_are_apart(uint64_t pc, uint64_t home) { return ip_trace_apart(pc, home); }

/* Only the supervisor serves what is kept, and looks at stages (tt_may_serve). */
bool keep_take(struct transtab *t, uint64_t key) {
    (void)t, (void)key;
    return false;
}
int keep_much_ahead(const struct transtab *t) {
    (void)t;
    return 0;
}
bool keep_ahead(struct transtab *t) {
    (void)t;
    return false;
}
void tt_stage_done(struct transtab *t, int stage, const struct ublock *b) { (void)t, (void)stage, (void)b; }
void tt_verify_moved(struct transtab *t) { (void)t; }
