/* Stacks: which region RSP is in, and what a change of RSP does to the shadow.
 *
 * docs/memcheck.md, "The clean translation": everything below RSP is undefined,
 * and a switch to another stack is recognised by region, not by distance.
 */
#include "runtime/core/core.h"
#include "heap/heap.h"
#include "shadow/shadow.h"

#define SWITCHES_TOLD 3 /* as Valgrind's users know it */

struct stack_reg {
    u64 lo, hi;
};

rt_lock_t sh_stacks_lock;
static struct stack_reg *stacks;
static u32 n_stacks, cap_stacks;

void rt_stack_register(u64 lo, u64 hi) {
    rt_lock(&sh_stacks_lock);
    for (u32 i = 0; i < n_stacks; i++)
        if (stacks[i].lo == lo && stacks[i].hi == hi) goto out;
    if (n_stacks == cap_stacks) {
        u32 cap = cap_stacks ? cap_stacks * 2 : 256;
        struct stack_reg *p = rt_pages(cap * sizeof *p);
        if (n_stacks) rt_memcpy(p, stacks, n_stacks * sizeof *p);
        if (stacks) rt_free_pages(stacks, cap_stacks * sizeof *p);
        stacks = p;
        cap_stacks = cap;
    }
    stacks[n_stacks++] = (struct stack_reg){lo, hi};
out:
    rt_unlock(&sh_stacks_lock);
}

/* This very region is gone; others that it lies in stay. */
void rt_stack_unregister(u64 lo, u64 hi) {
    rt_lock(&sh_stacks_lock);
    for (u32 i = 0; i < n_stacks; i++)
        if (stacks[i].lo == lo && stacks[i].hi == hi) {
            stacks[i] = stacks[--n_stacks];
            break;
        }
    rt_unlock(&sh_stacks_lock);
}

void rt_shadow_stack_grown(struct tstate *ts, u64 lo, u64 old_lo, u64 hi) {
    rt_shadow_mapped(lo, old_lo - lo, RT_SH_UNDEFINED);
    rt_stack_unregister(old_lo, hi);
    rt_stack_register(lo, hi);
    if (ts->stack_lo == old_lo && ts->stack_hi == hi) ts->stack_lo = lo;
}

/* Everything registered inside [lo, hi) is gone. */
void rt_stack_forget(u64 lo, u64 hi) {
    rt_lock(&sh_stacks_lock);
    for (u32 i = 0; i < n_stacks;)
        if (stacks[i].lo < hi && stacks[i].hi > lo)
            stacks[i] = stacks[--n_stacks];
        else
            i++;
    rt_unlock(&sh_stacks_lock);
}

/* shared: only a mapping, in which the program may keep many stacks (goroutines). */
static bool stack_region(u64 sp, u64 *lo, u64 *hi, bool *shared) {
    bool found = false;
    *shared = false;
    rt_lock(&sh_stacks_lock);
    for (u32 i = 0; i < n_stacks; i++) {
        /* sp == hi: an empty stack; the smallest region wins (STACK_REGISTER
         * inside a mapping). */
        if (sp > stacks[i].lo && sp <= stacks[i].hi && (!found || stacks[i].hi - stacks[i].lo < *hi - *lo)) {
            *lo = stacks[i].lo;
            *hi = stacks[i].hi;
            found = true;
        }
    }
    rt_unlock(&sh_stacks_lock);
    if (found) return true;
    u64 size;
    if (heap_block_at(sp, lo, &size) || heap_block_at(sp - 1, lo, &size)) {
        *hi = *lo + size;
        return true;
    }
    struct rt_seg seg;
    if (!rt_find_seg(sp - 1, &seg)) return false;
    *lo = seg.lo;
    *hi = seg.hi;
    heap_keep_out(sp - 1, lo, hi); /* the table joins neighbours of one kind */
    *shared = seg.kind != RT_SEG_STACK;
    return true;
}

bool rt_stack_region(u64 sp, u64 *lo, u64 *hi) {
    bool shared;
    return stack_region(sp, lo, hi, &shared);
}

static bool adopt_region(struct tstate *ts, u64 sp) {
    u64 lo, hi;
    bool shared;
    if (!stack_region(sp, &lo, &hi, &shared)) return false;
    ts->stack_lo = lo;
    ts->stack_hi = hi;
    ts->stack_shared = shared;
    return true;
}

void sh_stack_sync(struct tstate *ts) {
    u64 sp = ts->gpr[IP_RSP];
    if (sp <= ts->stack_lo || sp > ts->stack_hi) adopt_region(ts, sp);
}

/* Where the running function's return address is, as the call stack knows; 0 if it does not. */
static u64 return_slot(const struct tstate *ts, u64 sp) {
    for (u64 p = ts->cs_top; p >= ts->cs_base && p < ts->cs_limit; p -= sizeof(struct ip_csent)) {
        u64 slot = ~((const struct ip_csent *)p)->not_sp;
        if (slot >= sp) return slot < ts->stack_hi ? slot : 0;
    }
    return 0;
}

/* How RSP changed: within its frame; so that the new red zone stays; to a value from
 * elsewhere; the same, so that the new red zone stays; to that before a signal, whose
 * red zone is as alive as its frame. */
enum change { MOVED, RAISED, LOADED, RESTORED, RETURNED };

/* Until the next call or return. */
static void keep_red_zone(struct tstate *ts, u64 sp) {
    ts->umask |= 1ull << IP_U_REDZONE;
    ts->redzone_not_lo = ~(sp - SH_REDZONE);
}

static void moved(struct tstate *ts, u64 old_sp, u64 new_sp, enum change how) {
    if (!(rt.flags & IP_C_SHADOW) || old_sp == new_sp) return;
    u64 lo = ts->stack_lo, hi = ts->stack_hi;
    if (new_sp <= lo || new_sp > hi) { /* another stack, or one not known yet */
        if (!adopt_region(ts, new_sp)) return;
        lo = ts->stack_lo;
        hi = ts->stack_hi;
        /* First sight of the stack this thread has run on all the time? */
        if (old_sp <= lo || old_sp > hi) return;
    }
    if ((how == LOADED || how == RESTORED) && !ts->stack_shared) /* as longjmp does */
        rt_callstack_drop(ts, lo, new_sp);
    /* What lies below RSP is undefined already; a greater step is a switch between two
     * stacks in one mapping. */
    if (new_sp < old_sp || new_sp - old_sp > rt.chan->max_stackframe) return;
    /* In a mapping with many stacks (goroutines) what is in between may be alive: a
     * value from elsewhere is another stack's, even if a return address that the
     * call stack remembers lies above (Go's nanotime, back from its thread's stack). */
    if (ts->stack_shared && (how >= LOADED || new_sp > return_slot(ts, old_sp))) return;
    u64 from = old_sp - SH_REDZONE;
    if (from < lo) from = lo;
    if (how == RAISED || how == RESTORED) keep_red_zone(ts, new_sp);
    if (how == RAISED || how == RESTORED || how == RETURNED) {
        new_sp -= SH_REDZONE;
        if (new_sp <= from) return;
    }
    sh_fill(sh_v(from), 0xff, new_sp - from); /* in use a moment ago: its shadow exists */
}

/* The registered stack that sp is in, 0 if none; sp == hi: an empty one. */
static u64 registered(u64 sp) {
    u64 lo = 0, size = ~0ull;
    rt_lock(&sh_stacks_lock);
    for (u32 i = 0; i < n_stacks; i++)
        if (sp > stacks[i].lo && sp <= stacks[i].hi && stacks[i].hi - stacks[i].lo < size) {
            lo = stacks[i].lo;
            size = stacks[i].hi - lo;
        }
    rt_unlock(&sh_stacks_lock);
    return lo;
}

/* What is marked does not depend on it, but users look for the message, and it says why
 * a great frame that is given back keeps its values. From one registered stack to
 * another is no question. */
void rt_stack_stepped(struct tstate *ts, u64 old_sp, u64 new_sp) {
    static u32 told;
    u64 step = new_sp > old_sp ? new_sp - old_sp : old_sp - new_sp;
    if (step <= rt.chan->max_stackframe || !(rt.flags & IP_C_SHADOW) || !rt.chan->verbosity ||
        __atomic_load_n(&told, __ATOMIC_RELAXED) >= SWITCHES_TOLD)
        return;
    u64 from = registered(old_sp), to = registered(new_sp);
    if (from && to && from != to) return;
    u32 number = __atomic_add_fetch(&told, 1, __ATOMIC_RELAXED);
    if (number > SWITCHES_TOLD) return;
    rt_note(ts,
            "Warning: client switching stacks?  SP change: 0x%lx --> 0x%lx\n"
            "         to suppress, use: --max-stackframe=%lu or greater%s",
            old_sp, new_sp, step,
            number < SWITCHES_TOLD ? "" : "\n         further instances of this message will not be shown.");
}

void rt_stack_changed(struct tstate *ts, u64 old_sp, u64 new_sp) { moved(ts, old_sp, new_sp, MOVED); }

void rt_stack_raised(struct tstate *ts, u64 old_sp, u64 new_sp) { moved(ts, old_sp, new_sp, RAISED); }

void rt_stack_loaded(struct tstate *ts, u64 old_sp, u64 new_sp) { moved(ts, old_sp, new_sp, LOADED); }

void rt_stack_restored(struct tstate *ts, u64 old_sp, u64 new_sp) { moved(ts, old_sp, new_sp, RESTORED); }

void rt_stack_returned(struct tstate *ts, u64 old_sp, u64 new_sp) {
    moved(ts, old_sp, new_sp, RETURNED);
    /* The handler's own calls and returns have cleaned theirs. */
    if (!ts->stack_shared && new_sp > ts->stack_lo && new_sp <= ts->stack_hi) keep_red_zone(ts, new_sp);
}

void sh_clean_red_zone(struct tstate *ts) {
    u64 sp = ts->gpr[IP_RSP], lo = ~ts->redzone_not_lo;
    ts->umask &= ~(1ull << IP_U_REDZONE);
    ts->redzone_not_lo = 0;
    if (lo >= ts->stack_lo && lo < sp && sp <= ts->stack_hi && sp - lo <= rt.chan->max_stackframe)
        sh_fill(sh_v(lo), 0xff, sp - lo);
}
