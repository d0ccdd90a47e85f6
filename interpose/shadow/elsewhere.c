/* What is dead on the stacks of other threads, which wait in a system call: bytes below their RSP and its red zone.
 *
 * Of a thread that runs nobody knows where its RSP is.  What an access finds here it may rely on: were the frame
 * that it goes to alive, that thread would wait above it, or not wait, from before it gave the address away until now.
 */
#include <asm/unistd.h>

#include "runtime/core/core.h"
#include "shadow/shadow.h"

#define PART     30 /* bits of an address within one part of the table */
#define PAGE_BIT 12
_Static_assert(PART == 30 && RT_PAGE == 1 << PAGE_BIT, "slow_entry.inc");

/* Whether a page is of a thread's stack: for each GB a byte for each page, or NULL.  NULL: there has been one thread
 * only. */
u8 **sh_stack_pages;

static bool is_stack(u64 addr) {
    u8 *const *pages = sh_stack_pages, *part;
    if (!pages || addr >= IP_CLIENT_END) return false;
    part = __atomic_load_n(&pages[addr >> PART], __ATOMIC_RELAXED);
    return part && part[addr % (1u << PART) >> PAGE_BIT];
}

bool sh_meets_stacks(u64 addr, u64 end) {
    if (!sh_stack_pages) return false;
    for (u64 at = addr; at < end; at = RT_ROUND_DOWN(at, RT_PAGE) + RT_PAGE)
        if (is_stack(at)) return true;
    return false;
}

/* sh_stacks_lock is held, and threads have been made. */
static void note(u64 lo, u64 hi, bool is) {
    for (u64 at = RT_ROUND_DOWN(lo, RT_PAGE); at < hi && at < IP_CLIENT_END; at += RT_PAGE) {
        u8 **part = &sh_stack_pages[at >> PART];
        if (!*part) __atomic_store_n(part, rt_pages(1u << PART >> PAGE_BIT), __ATOMIC_RELEASE);
        (*part)[at % (1u << PART) >> PAGE_BIT] = is;
    }
}

void sh_stack_begins(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    if (rt_alone || th->vfork_child || ts->stack_shared) return;
    rt_lock(&sh_stacks_lock);
    if (!sh_stack_pages) {
        __atomic_store_n(&sh_stack_pages, rt_pages((IP_CLIENT_END >> PART) * sizeof(u8 *)), __ATOMIC_RELEASE);
        note(rt.stack_lo, rt.stack_top, true);
    }
    th->stack_noted[0] = ts->stack_lo;
    th->stack_noted[1] = ts->stack_hi;
    note(ts->stack_lo, ts->stack_hi, true);
    rt_unlock(&sh_stacks_lock);
}

void sh_stack_ends(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    if (!th->stack_noted[1]) return;
    rt_lock(&sh_stacks_lock);
    note(th->stack_noted[0], th->stack_noted[1], false);
    rt_unlock(&sh_stacks_lock);
    th->stack_noted[0] = th->stack_noted[1] = 0;
}

void sh_stack_grows(u64 lo, u64 old_lo) {
    rt_lock(&sh_stacks_lock);
    if (sh_stack_pages) note(lo, old_lo, true);
    rt_unlock(&sh_stacks_lock);
}

/* Where the dead part of a waiting thread's stack ends; 0: it does not wait there. */
static u64 dead_end(struct tstate *o, u64 *lo) {
    const u64 *waits_sp = &rt_th(o)->waits_sp;
    u64 sp = __atomic_load_n(waits_sp, __ATOMIC_ACQUIRE);
    if (!sp || !rt_is_thread(o) || !sh_is_own_stack(o, sp)) return 0;
    *lo = __atomic_load_n(&o->stack_lo, __ATOMIC_ACQUIRE);
    return __atomic_load_n(waits_sp, __ATOMIC_ACQUIRE) == sp ? sp - SH_REDZONE : 0;
}

u64 sh_look_elsewhere(const struct tstate *ts, u64 addr, unsigned n) {
    struct tstate *o;
    if (!is_stack(addr) && !is_stack(addr + n - 1)) return 0;
    for (u32 i = 0; (o = rt_thread_by_index(i)); i++) {
        u64 lo, hi = o == ts ? 0 : dead_end(o, &lo), dead = hi ? sh_bytes_in(addr, n, lo, hi) : 0;
        if (dead) return dead;
    }
    return 0;
}

bool sh_open_untouched(u64 addr, u64 n) {
    bool any = false;
    for (u64 page = RT_ROUND_DOWN(addr, RT_PAGE); page < addr + n; page += RT_PAGE) {
        u8 there = 1;
        if (page >= rt.stack_lo || !is_stack(page) || !sh_is_open(page, page + RT_PAGE)) continue;
        if (sys3(__NR_mincore, (long)page, RT_PAGE, (long)&there) < 0 || (there & 1)) continue;
        sh_fill(sh_v(page), 0, RT_PAGE);
        any = true;
    }
    return any;
}
