/* Stacks: which region RSP is in, and what a change of RSP does to the shadow.
 *
 * Memcheck engine, "The clean translation": everything below RSP is undefined,
 * and a switch to another stack is recognised by region, not by distance.
 */
#include "heap.h"
#include "shadow.h"

/* A greater step is a switch between two stacks in one mapping (--max-stackframe). */
#define MAX_FRAME 2000000

struct stack_reg { u64 lo, hi; };

rt_lock_t sh_stacks_lock;
static struct stack_reg *stacks;
static u32 n_stacks, cap_stacks;

void rt_stack_register(u64 lo, u64 hi) {
    rt_lock(&sh_stacks_lock);
    for (u32 i = 0; i < n_stacks; i++)
        if (stacks[i].lo == lo && stacks[i].hi == hi)
            goto out;
    if (n_stacks == cap_stacks) {
        u32 cap = cap_stacks ? cap_stacks * 2 : 256;
        struct stack_reg *p = rt_pages(cap * sizeof *p);
        if (n_stacks)
            rt_memcpy(p, stacks, n_stacks * sizeof *p);
        if (stacks)
            rt_free_pages(stacks, cap_stacks * sizeof *p);
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

bool rt_stack_region(u64 sp, u64 *lo, u64 *hi) {
    bool found = false;
    rt_lock(&sh_stacks_lock);
    for (u32 i = 0; i < n_stacks; i++) {
        /* sp == hi: an empty stack; the smallest region wins (STACK_REGISTER
         * inside a mapping). */
        if (sp > stacks[i].lo && sp <= stacks[i].hi &&
            (!found || stacks[i].hi - stacks[i].lo < *hi - *lo)) {
            *lo = stacks[i].lo;
            *hi = stacks[i].hi;
            found = true;
        }
    }
    rt_unlock(&sh_stacks_lock);
    if (found)
        return true;
    u64 size;
    if (heap_block_at(sp, lo, &size) || heap_block_at(sp - 1, lo, &size)) {
        *hi = *lo + size;
        return true;
    }
    struct rt_seg seg;
    if (!rt_find_seg(sp - 1, &seg))
        return false;
    *lo = seg.lo;
    *hi = seg.hi;
    heap_keep_out(sp - 1, lo, hi); /* the table joins neighbours of one kind */
    return true;
}

void sh_stack_sync(struct tstate *ts) {
    u64 sp = ts->gpr[IP_RSP], lo, hi;
    if (sp > ts->stack_lo && sp <= ts->stack_hi)
        return;
    if (rt_stack_region(sp, &lo, &hi)) {
        ts->stack_lo = lo;
        ts->stack_hi = hi;
    }
}

void rt_stack_changed(struct tstate *ts, u64 old_sp, u64 new_sp) {
    if (!(rt.flags & IP_C_SHADOW) || old_sp == new_sp)
        return;
    u64 lo = ts->stack_lo, hi = ts->stack_hi;
    if (new_sp <= lo || new_sp > hi) { /* another stack, or one not known yet */
        u64 nlo, nhi;
        if (!rt_stack_region(new_sp, &nlo, &nhi))
            return;
        ts->stack_lo = nlo;
        ts->stack_hi = nhi;
        /* First sight of the stack this thread has run on all the time? */
        if (old_sp <= nlo || old_sp > nhi)
            return;
        lo = nlo;
        hi = nhi;
    }
    if (new_sp < old_sp || new_sp - old_sp >= MAX_FRAME)
        return; /* what lies below RSP is undefined already */
    u64 from = old_sp - SH_REDZONE;
    if (from < lo)
        from = lo;
    sh_fill(sh_v(from), 0xff, new_sp - from); /* in use a moment ago: its shadow exists */
}
