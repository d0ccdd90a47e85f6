/* The call stack (abi/tstate.h, struct ip_csent): its memory, and what is done when it is full.
 *
 * Translated calls push without a test; a page without access behind the last entry
 * stops them.  Full it is when a program calls and never returns (continuations, as in
 * CHICKEN's code, whose stack a longjmp takes back), or in a recursion with little frames on a
 * great stack.
 */
#include <asm/unistd.h>
#include <linux/mman.h>

#include "runtime/core/core.h"
#include "runtime/base/ksignal.h"
#include "runtime/base/peek.h"
#include "runtime/seam.h"

#define MAIN_CALLSTACK   (64ull << 20)
#define THREAD_CALLSTACK (16ull << 20) /* 8 MiB of stack in frames of 8 bytes */
#define ENTRY            sizeof(struct ip_csent)
#define LOOKED_MOST      1024
#define LEFT_BITS        8  /* of the number of sets of stacks that were left */
#define LEFT_WAYS        4  /* stacks in each */
#define LEFT_MOST        64 /* calls of one */
#define LEFT_SHIFT       8
#define LEFT_PAGES       3 /* RSP comes back at most so far above where it left */
#define LEFT_INDEX       (sizeof(u64) * LEFT_WAYS << LEFT_BITS)
#define LEFT_SIZE        (LEFT_INDEX + (ENTRY * LEFT_MOST * LEFT_WAYS << LEFT_BITS))
_Static_assert(LEFT_MOST < 1 << LEFT_SHIFT, "a number in the low bits");

/* For each stack that was left: the page that RSP was in, and how many of its calls are kept (0: no stack). */
static u64 *left_set(const struct tstate *ts, u64 page) {
    return (u64 *)(ts->cs_limit + RT_PAGE) + (page * 0x9e3779b97f4a7c15ull >> (64 - LEFT_BITS)) * LEFT_WAYS;
}

/* The newest first. */
static struct ip_csent *left_calls(const struct tstate *ts, const u64 *left) {
    u64 index = ts->cs_limit + RT_PAGE;
    return (struct ip_csent *)(index + LEFT_INDEX) + (left - (const u64 *)index) * LEFT_MOST;
}

static u64 left_many(const u64 *left) { return *left & ((1u << LEFT_SHIFT) - 1); }

void rt_callstack_new(struct tstate *ts, bool first) {
    u64 size = first ? MAIN_CALLSTACK : THREAD_CALLSTACK;
    ts->cs_base = (u64)rt_pages(size + RT_PAGE + LEFT_SIZE);
    ts->cs_limit = ts->cs_base + size;
    sys3(__NR_mprotect, (long)ts->cs_limit, RT_PAGE, PROT_NONE);
}

/* Is the entry's return address still where the call put it, above what is known? */
static bool live(const struct ip_csent *e, u64 above) {
    u64 slot = rt_return_slot(e), word;
    return slot >= above && e->above && rt_copy_from(&word, slot, sizeof word) == 0 && word == e->retaddr;
}

/* Drops every entry that no trace would show; of live ones, the older half. */
static void make_room(struct tstate *ts, u64 sp, u64 end) {
    struct ip_csent *to = (struct ip_csent *)end, *sentinel = (struct ip_csent *)ts->cs_base;
    const struct ip_csent *seen = NULL;
    u64 above = sp, most = (end - ts->cs_base) / ENTRY / 2, kept = 0;
    for (struct ip_csent *e = to - 1; e > sentinel && kept < most; e--) {
        if (!rt_is_interrupted(e, seen) && !live(e, above)) continue;
        seen = e;
        above = e->above;
        *--to = *e;
        kept++;
    }
    memmove(sentinel + 1, to, kept * ENTRY);
    ts->cs_top = (u64)(sentinel + kept);
}

bool rt_callstack_full(struct tstate *ts, u64 addr, struct sig_context *mc) {
    if (!(rt.flags & IP_C_CALLSTACK) || addr != ts->cs_limit) return false;
    make_room(ts, mc->sp, ts->cs_limit);
    ts->cs_top += ENTRY;
    /* The push has put the new entry's address in one register, and writes there again. */
    u64 *const regs[] = {&mc->ax, &mc->cx,  &mc->dx,  &mc->bx,  &mc->bp,  &mc->si,  &mc->di, &mc->r8,
                         &mc->r9, &mc->r10, &mc->r11, &mc->r12, &mc->r13, &mc->r14, &mc->r15};
    for (u32 i = 0; i < sizeof regs / sizeof regs[0]; i++)
        if (*regs[i] == addr) *regs[i] = ts->cs_top;
    return true;
}

void rt_callstack_push(struct tstate *ts, u64 retaddr, u64 slot) {
    if (ts->cs_top + ENTRY >= ts->cs_limit) make_room(ts, slot + sizeof(u64), ts->cs_limit);
    ts->cs_top += ENTRY;
    *(struct ip_csent *)ts->cs_top = (struct ip_csent){retaddr, slot + sizeof(u64)};
}

/* Has something else taken the return address's place? */
static bool is_overwritten(const struct ip_csent *e) {
    u64 word;
    return e->retaddr && rt_copy_from(&word, rt_return_slot(e), sizeof word) == 0 && word != e->retaddr;
}

/* Has the call been left although its word is in the stack still?  An unwinder goes on in a frame by the address of the
 * handler in the place of the return address (__builtin_eh_return): then RSP is not above it yet.  Where that handler
 * is what follows the call, the next call from there is an entry like this one. */
static bool is_left(const struct ip_csent *e) {
    const struct ip_csent *older = e - 1;
    return is_overwritten(e) || (e->retaddr && older->above == e->above && older->retaddr == e->retaddr);
}

bool rt_callstack_is_moved(const struct tstate *ts, const struct ip_csent *e, u64 sp) {
    enum { WORDS = 64 };
    if (!e->retaddr || e->retaddr == RT_CALL_RETURN || (u64)e <= ts->cs_base || !e[-1].retaddr) return false;
    u64 outer = rt_return_slot(e - 1), end = sp + WORDS * sizeof(u64);
    for (u64 at = sp; at < end && at < outer; at += sizeof(u64))
        if (rt_below_is(at + sizeof(u64), e->retaddr)) return true;
    return false;
}

void rt_callstack_looked(struct tstate *ts, const struct ip_csent *last, u32 shown) {
    const struct ip_csent *top = (const struct ip_csent *)ts->cs_top;
    if (top - last < LOOKED_MOST || top - last < 8 * (long)shown) return;
    struct ip_csent *to = (struct ip_csent *)ts->cs_top, *sentinel = (struct ip_csent *)ts->cs_base;
    u64 sp = ts->gpr[IP_RSP];
    while (to > sentinel && to->retaddr != RT_CALL_RETURN) to--; /* a request's call knows its entry by the address */
    for (const struct ip_csent *e = ++to; e <= top; e++) {
        u64 slot = rt_return_slot(e);
        bool is_below = e->retaddr && slot >= ts->stack_lo && slot < sp && sp <= ts->stack_hi;
        if (!is_below && !is_overwritten(e)) *to++ = *e;
    }
    ts->cs_top = (u64)(to - 1);
}

void rt_callstack_drop(struct tstate *ts, u64 lo, u64 sp) {
    if (!(rt.flags & IP_C_CALLSTACK)) return;
    const struct ip_csent *newest = (const struct ip_csent *)ts->cs_top;
    if (rt_return_slot(newest) < sp && rt_callstack_is_moved(ts, newest, sp)) return;
    while (ts->cs_top > ts->cs_base) {
        const struct ip_csent *e = (const struct ip_csent *)ts->cs_top;
        u64 slot = rt_return_slot(e);
        if (slot < lo || (slot >= sp && !is_left(e))) break;
        ts->cs_top -= ENTRY;
    }
}

/* ---- Stacks that are left and come back to ------------------------------------------------------- */

/* Returns on a stack take all entries below RSP from the call stack, and so those of a coroutine that waits further
 * down.  They are kept aside when RSP leaves its stack. */

/* No call, but what marks a place among them: none is taken away from there. */
static bool is_mark(const struct ip_csent *e) { return !e->retaddr || e->retaddr == RT_CALL_RETURN; }

void rt_callstack_leave(struct tstate *ts, u64 lo, u64 hi, u64 sp, bool stays) {
    struct ip_csent *e = (struct ip_csent *)ts->cs_top, *sentinel = (struct ip_csent *)ts->cs_base;
    if (!(rt.flags & IP_C_CALLSTACK)) return;
    u64 page = sp / RT_PAGE, n = 0, *set = left_set(ts, page), *left = set + page % LEFT_WAYS;
    for (u64 *l = set; l < set + LEFT_WAYS; l++) {
        if (!*l || *l >> LEFT_SHIFT == page) left = l;
        if (*l >> LEFT_SHIFT == page) break;
    }
    struct ip_csent *calls = left_calls(ts, left);
    for (; e > sentinel && !is_mark(e); e--) {
        u64 slot = rt_return_slot(e);
        if (slot < lo || slot >= hi) break;
        if (slot < sp || n == LEFT_MOST || !rt_below_is(e->above, e->retaddr)) continue;
        calls[n++] = *e;
        sp = e->above;
    }
    *left = n ? page << LEFT_SHIFT | n : 0;
    if (!stays && (e == sentinel || !is_mark(e))) ts->cs_top = (u64)e;
}

/* What was left on the stack that RSP is on, a little below sp; others may lie next to it. */
static u64 *left_below(const struct tstate *ts, u64 sp) {
    for (u64 page = sp / RT_PAGE; page > sp / RT_PAGE - LEFT_PAGES; page--) {
        u64 *set = left_set(ts, page);
        for (u64 *l = set; l < set + LEFT_WAYS; l++) {
            if (!*l || *l >> LEFT_SHIFT != page) continue;
            const struct ip_csent *calls = left_calls(ts, l);
            if (rt_return_slot(&calls[left_many(l) - 1]) >= sp && rt_return_slot(calls) < ts->stack_hi) return l;
        }
    }
    return NULL;
}

void rt_callstack_return(struct tstate *ts, u64 sp) {
    struct ip_csent *top = (struct ip_csent *)ts->cs_top, *sentinel = (struct ip_csent *)ts->cs_base, *e = top;
    u64 *left = rt.flags & IP_C_CALLSTACK ? left_below(ts, sp) : NULL;
    if (!left) return;
    u64 n = left_many(left);
    const struct ip_csent *calls = left_calls(ts, left);
    for (; n && (rt_return_slot(calls) < sp || !rt_below_is(calls->above, calls->retaddr)); n--) calls++;
    *left = 0; /* whoever is there later is another one */
    if (!n) return;
    for (; e > sentinel && top - e < 2 * LEFT_MOST; e--) {
        if (is_mark(e)) return;
        if (e->above != calls->above || e->retaddr != calls->retaddr) continue;
        ts->cs_top = (u64)e;
        return;
    }
    if (ts->cs_top + (n + 1) * ENTRY >= ts->cs_limit) return;
    while (n) *++top = calls[--n];
    ts->cs_top = (u64)top;
}
