/* Stacks: which region RSP is in, and what a change of RSP does to the shadow.
 *
 * docs/memcheck.md, "The clean translation": everything below RSP is undefined,
 * and a switch to another stack is recognised by region, not by distance.
 */
#include "runtime/core/core.h"
#include "runtime/memory/mm.h"
#include "heap/heap.h"
#include "x86_mnem.h"
#include "shadow/shadow.h"

#define SWITCHES_TOLD 3 /* as Valgrind's users know it */
#define CALM          4096
#define LOOKS         4096 /* bytes below RSP that tell whether a stack was as deep before */

/* named: by the program, which may have had other things there. */
struct stack_reg {
    u64 lo, hi;
    bool named;
};

rt_lock_t sh_stacks_lock;
static struct stack_reg *stacks;
static u32 n_stacks, cap_stacks;

void rt_stack_register(u64 lo, u64 hi, bool named) {
    rt_lock(&sh_stacks_lock);
    for (u32 i = 0; i < n_stacks; i++)
        if (stacks[i].lo == lo && stacks[i].hi == hi) {
            stacks[i].named |= named;
            goto out;
        }
    if (n_stacks == cap_stacks) {
        u32 cap = cap_stacks ? cap_stacks * 2 : 256;
        struct stack_reg *p = rt_pages(cap * sizeof *p);
        if (n_stacks) memcpy(p, stacks, n_stacks * sizeof *p);
        if (stacks) rt_free_pages(stacks, cap_stacks * sizeof *p);
        stacks = p;
        cap_stacks = cap;
    }
    stacks[n_stacks++] = (struct stack_reg){lo, hi, named};
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
    rt_stack_register(lo, hi, false);
    if (ts->stack_lo == old_lo && ts->stack_hi == hi) rt_set_stack(ts, lo, hi);
    sh_stack_grows(lo, old_lo);
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

struct region {
    u64 lo, hi;
    bool shared; /* only a mapping, in which the program may keep many stacks (goroutines) */
    bool takes;  /* IP_U_TAKES: what lies below RSP may have been something else */
    bool looks;  /* it takes unless what lies below RSP is undefined already */
};

/* The data of an image: a file's, and what follows it without a file. */
static bool is_image_data(const struct rt_seg *seg) {
    struct rt_seg before;
    if (seg->kind == RT_SEG_FILE) return !(seg->mflags & MM_SHARED);
    return seg->kind == RT_SEG_ANON && rt_find_seg(seg->lo - 1, &before) && before.kind == RT_SEG_FILE &&
           !(before.mflags & MM_SHARED);
}

static bool stack_region(u64 sp, struct region *r) {
    bool found = false;
    *r = (struct region){0};
    rt_lock(&sh_stacks_lock);
    for (u32 i = 0; i < n_stacks; i++) {
        /* sp == hi: an empty stack; the smallest region wins (STACK_REGISTER
         * inside a mapping). */
        if (sp > stacks[i].lo && sp <= stacks[i].hi && (!found || stacks[i].hi - stacks[i].lo < r->hi - r->lo)) {
            *r = (struct region){.lo = stacks[i].lo, .hi = stacks[i].hi, .takes = stacks[i].named};
            found = true;
        }
    }
    rt_unlock(&sh_stacks_lock);
    if (found) return true;
    u64 size;
    if (heap_block_at(sp, &r->lo, &size) || heap_block_at(sp - 1, &r->lo, &size)) {
        r->hi = r->lo + size;
        r->looks = true;
        return true;
    }
    struct rt_seg seg;
    if (!rt_find_seg(sp - 1, &seg)) return false;
    r->lo = seg.lo;
    r->hi = seg.hi;
    heap_keep_out(sp - 1, &r->lo, &r->hi); /* the table joins neighbours of one kind */
    r->shared = seg.kind != RT_SEG_STACK;
    r->takes = is_image_data(&seg);
    r->looks = !r->takes && seg.kind == RT_SEG_ANON && !rt.chan->keeps_stack;
    return true;
}

bool rt_stack_region(u64 sp, u64 *lo, u64 *hi, bool *takes) {
    struct region r;
    if (!stack_region(sp, &r)) return false;
    *lo = r.lo;
    *hi = r.hi;
    *takes = r.takes;
    return true;
}

/* Is all undefined for a good way down from sp?  Then nothing but stack was there, or the stack was as deep before. */
static bool is_undefined_below(u64 sp, u64 lo) {
    u64 top = (sp - SH_REDZONE - SH_PUSHES) & ~7ull, bottom = top > lo + LOOKS ? top - LOOKS : (lo + 7) & ~7ull;
    u64 v[64];
    for (u64 at = top; at > bottom;) {
        u64 n = at - bottom < sizeof v ? at - bottom : sizeof v;
        at -= n;
        /* The region may be less by now, or have a guard page in it: then it ends there. */
        if (rt_copy_from(v, (u64)sh_v(at), n) != 0) return true;
        for (u64 i = 0; i < n / 8; i++)
            if (v[i] != ~0ull) return false;
    }
    return true;
}

/* What is known of stacks of which only looking says whether they take, by the page that RSP was in: how calm
 * (sh_stack_calm) one was when RSP left it, or that all was undefined below.  Coroutines come back there. */
#define LEFT_BITS 15
#define LOOKED    (CALM + 1)
static u64 left[1u << LEFT_BITS];

static u64 *left_at(u64 sp) { return &left[(sp >> 12) * 0x9e3779b97f4a7c15ull >> (64 - LEFT_BITS)]; }

static void note_left(u64 sp, u64 known) { __atomic_store_n(left_at(sp), sp >> 12 << 16 | known, __ATOMIC_RELAXED); }

static void remember_calm(const struct tstate *ts, u64 sp) {
    if (ts->stack_looks && ts->stack_calm && sp > ts->stack_lo && sp <= ts->stack_hi) note_left(sp, ts->stack_calm);
}

/* Whatever was there once may have become something else: some words of what was looked at say that it has not.  They
 * are near RSP, where the stack's next frames will be: each page further down is one that the caches do not have. */
static bool is_undefined_still(u64 sp, u64 lo, u64 far) {
    u64 below = (sp - SH_REDZONE - SH_PUSHES) & ~7ull, v = 0;
    if (below < lo + 8) return false;
    for (u64 d = 8; d <= far && below >= lo + d; d *= 8)
        if (rt_copy_from(&v, (u64)sh_v(below - d), 8) != 0 || v != ~0ull) return false;
    return true;
}

/* 0 if what lies below does not look as if a stack had been there. */
static u16 recall_calm(u64 sp, u64 lo) {
    u64 was = __atomic_load_n(left_at(sp), __ATOMIC_RELAXED);
    u16 calm = (u16)was;
    return was >> 16 == sp >> 12 && is_undefined_still(sp, lo, calm == LOOKED ? LOOKS / 8 : 8) ? calm : 0;
}

static void set_takes(struct tstate *ts, bool takes) {
    ts->umask = (ts->umask & ~(1ull << IP_U_TAKES)) | (u64)takes << IP_U_TAKES;
}

/* RSP comes to sp, on a stack of which only looking says whether it takes what may be defined. */
static void look(struct tstate *ts, u64 sp) {
    u16 calm = recall_calm(sp, ts->stack_lo);
    bool undefined = calm >= CALM || is_undefined_below(sp, ts->stack_lo);
    ts->stack_calm = undefined && calm != CALM ? 0 : calm; /* when RSP leaves, what was found here stays noted */
    set_takes(ts, !undefined);
    if (undefined && calm < CALM) note_left(sp, LOOKED);
}

/* Something has been seen to grow towards a stack in a heap block or mapping that is one by nobody's word: an Erlang
 * process's heap.  From now on only what RSP itself gives back becomes undefined on such stacks, neither the red zone
 * nor what a callee would take. */
static u32 found_beside;
void sh_found_beside_stack(void) { __atomic_store_n(&found_beside, 1, __ATOMIC_RELAXED); }

static bool is_alternate(const struct rt_thread *th, u64 sp) {
    return th->altstack_size && sp > th->altstack_sp && sp - th->altstack_sp <= th->altstack_size;
}

bool sh_stack_adopt(struct tstate *ts, u64 sp) {
    const struct rt_thread *th = rt_th(ts);
    u64 lo = th->altstack_sp, size = th->altstack_size;
    struct region r;
    if (!stack_region(sp, &r)) return false;
    if (is_alternate(th, sp) && lo >= r.lo && lo + size <= r.hi) {
        r.lo = lo;
        r.hi = lo + size;
        r.takes = true;
        r.shared = r.looks = false;
    }
    rt_set_stack(ts, r.lo, r.hi);
    ts->stack_shared = r.shared;
    ts->stack_looks = r.looks;
    set_takes(ts, r.takes);
    if (r.looks && !r.takes && !found_beside) look(ts, sp);
    return true;
}

/* Where the running function's return address is, as the call stack knows; 0 if it does not. */
static u64 return_slot(const struct tstate *ts, u64 sp) {
    for (u64 p = ts->cs_top; p >= ts->cs_base && p < ts->cs_limit; p -= sizeof(struct ip_csent)) {
        const struct ip_csent *e = (const struct ip_csent *)p;
        u64 slot = rt_return_slot(e);
        if (e->above && !e->retaddr) continue; /* RSP before a signal */
        if (slot >= sp) return slot < ts->stack_hi ? slot : 0;
    }
    return 0;
}

/* How RSP changed: within its frame; so that the new red zone stays; to a value from
 * elsewhere; the same, so that the new red zone stays; to that before a signal, whose
 * red zone is as alive as its frame; the same, where the handler's frame was right below. */
enum change { MOVED, RAISED, LOADED, RESTORED, RETURNED, RESUMED };

/* Until the next call or return. */
static void keep_red_zone(struct tstate *ts, u64 sp) {
    ts->umask |= 1ull << IP_U_REDZONE;
    ts->redzone_not_lo = sh_not_lo(sp - SH_REDZONE);
}

/* What lies below RSP on such a stack is not the stack's (sh_found_beside_stack). */
static bool has_neighbour(const struct tstate *ts) {
    return ts->stack_looks && __atomic_load_n(&found_beside, __ATOMIC_RELAXED);
}

static void take(const struct tstate *ts, u64 lo, u64 hi) {
    if (has_neighbour(ts)) return;
    if (lo < ts->stack_lo) lo = ts->stack_lo;
    if (hi > ts->stack_hi) hi = ts->stack_hi;
    sh_undefine(lo, hi);
}

/* Where looking says that a stack takes what may be defined, many steps that have found nothing defined say that
 * it is now as deep as it goes: then code on it runs at full speed until RSP comes from elsewhere again. */
void sh_stack_calm(struct tstate *ts) {
    if (ts->stack_looks && ts->stack_calm < CALM && ++ts->stack_calm == CALM) set_takes(ts, false);
}

/* A stack that may hold values, in an image's data, say, is marked as it is taken, not all at
 * once: how far down it goes nobody knows, and at its lower end programs keep things. */
bool sh_stack_taken(const struct tstate *ts, const struct ip_insn *in, u64 *lo, u64 *hi) {
    u64 sp = ts->gpr[IP_RSP];
    int64_t step;
    switch (in->mnem) {
    case IP_MN_CALL:
        *lo = sp - 8 - SH_REDZONE - SH_PUSHES;
        *hi = sp - 8;
        return true;
    case IP_MN_ADD: step = -in->imm; break;
    case IP_MN_SUB: step = in->imm; break;
    case IP_MN_LEA: step = in->mem.base == IP_RSP && in->mem.index == IP_REG_NONE ? -in->mem.disp : 0; break;
    default: return false;
    }
    bool known = in->mnem == IP_MN_LEA || (in->imm_len && !in->mem.present);
    if (!known || !(in->gpr_write & 1u << IP_RSP) || in->opsize != 8) return false;
    *hi = sp - SH_REDZONE;
    *lo = *hi - (u64)step;
    return step > 0 && (u64)step <= rt.chan->max_stackframe;
}

void sh_take_stack(const struct tstate *ts, const struct ip_insn *in) {
    u64 lo, hi;
    if (sh_stack_taken(ts, in, &lo, &hi)) take(ts, lo, hi);
}

/* The same for changes by an unknown amount.  What lies below a value from elsewhere is dead. */
static void taken_otherwise(struct tstate *ts, u64 old_sp, u64 sp, enum change how) {
    u64 step = sp > old_sp ? sp - old_sp : old_sp - sp;
    if (how <= RAISED && step <= rt.chan->max_stackframe && old_sp > ts->stack_lo && old_sp <= ts->stack_hi) {
        if (sp < old_sp) take(ts, sp - SH_REDZONE - SH_PUSHES, old_sp - SH_REDZONE);
        return;
    }
    bool keeps = how == RAISED || how == RESTORED;
    take(ts, sp - SH_REDZONE - SH_PUSHES, keeps || how >= RETURNED ? sp - SH_REDZONE : sp);
    if (keeps) keep_red_zone(ts, sp);
}

bool sh_is_own_stack(const struct tstate *ts, u64 sp) {
    return !ts->stack_shared && !ts->stack_looks && !(ts->umask >> IP_U_TAKES & 1) && sp > ts->stack_lo &&
           sp <= ts->stack_hi;
}

static void leave(struct tstate *ts, u64 sp) {
    remember_calm(ts, sp);
    if (!sh_is_own_stack(ts, sp)) return;
    rt_th(ts)->left_sp = sp;
    rt_th(ts)->left_hi = ts->stack_hi;
}

/* RSP is back on the stack it came from, from one in [lo, hi).  Further up than where it has left that one, frames are
 * gone (a longjmp from an alternate stack); else 0. */
static u64 come_back(struct tstate *ts, u64 sp, u64 lo, u64 hi) {
    struct rt_thread *th = rt_th(ts);
    u64 left = th->left_sp;
    if (!left || th->left_hi != ts->stack_hi || !sh_is_own_stack(ts, sp)) return 0;
    th->left_sp = 0;
    if (sp <= left || rt.chan->keeps_stack) return 0;
    rt_callstack_drop(ts, lo, hi);
    rt_callstack_drop(ts, ts->stack_lo, sp);
    return left;
}

/* From one stack to another as coroutines do: no signal, and nothing to an Erlang process's stack, which the scheduler
 * leaves for each call of the runtime's, and whose code has no names. */
static bool goes_over(const struct rt_thread *th, u64 from, u64 to) {
    return !is_alternate(th, from) && !is_alternate(th, to) && !__atomic_load_n(&found_beside, __ATOMIC_RELAXED);
}

static void moved(struct tstate *ts, u64 old_sp, u64 new_sp, enum change how) {
    if (!(rt.flags & IP_C_SHADOW) || old_sp == new_sp) return;
    const struct rt_thread *th = rt_th(ts);
    u64 lo = ts->stack_lo, hi = ts->stack_hi;
    /* An alternate signal stack may be an array of a function further up: frames in between are alive. */
    bool enters = how >= LOADED && is_alternate(th, new_sp) && !is_alternate(th, old_sp);
    if (is_alternate(th, old_sp) && !is_alternate(th, new_sp) && (how == LOADED || how == RESTORED))
        rt_callstack_drop(ts, th->altstack_sp, th->altstack_sp + th->altstack_size);
    if (enters || new_sp <= lo || new_sp > hi) { /* another stack, or one not known yet */
        bool switches = how <= RESTORED && old_sp > lo && old_sp <= hi && goes_over(th, old_sp, new_sp);
        if (switches) rt_callstack_leave(ts, lo, hi, old_sp, sh_is_own_stack(ts, old_sp));
        leave(ts, old_sp);
        if (!sh_stack_adopt(ts, new_sp)) return;
        if (switches) rt_callstack_return(ts, new_sp);
        u64 left = come_back(ts, new_sp, lo, hi);
        lo = ts->stack_lo;
        hi = ts->stack_hi;
        if (left) {
            if (how == RAISED || how == RESTORED) keep_red_zone(ts, new_sp);
            if (left - SH_REDZONE > lo) sh_undefine(left - SH_REDZONE, new_sp - (how == LOADED ? 0 : SH_REDZONE));
            return;
        }
    } else if (ts->stack_looks && how >= LOADED && (new_sp > old_sp ? new_sp - old_sp : old_sp - new_sp) > LOOKS) {
        remember_calm(ts, old_sp);
        look(ts, new_sp); /* perhaps another stack in the same mapping */
    }
    if (ts->umask >> IP_U_TAKES & 1) taken_otherwise(ts, old_sp, new_sp, how);
    /* First sight of the stack this thread has run on all the time? */
    if (old_sp <= lo || old_sp > hi) return;
    if ((how == LOADED || how == RESTORED) && !ts->stack_shared) /* as longjmp does */
        rt_callstack_drop(ts, lo, new_sp);
    /* What lies below RSP is undefined already; a greater step is a switch between two
     * stacks in one mapping. */
    if (new_sp < old_sp || new_sp - old_sp > rt.chan->max_stackframe) return;
    /* In a mapping with many stacks (goroutines) what is in between may be alive: a
     * value from elsewhere is another stack's, even if a return address that the
     * call stack remembers lies above (Go's nanotime, back from its thread's stack). */
    if (ts->stack_shared && how != RESUMED && (how >= LOADED || new_sp > return_slot(ts, old_sp))) return;
    u64 from = old_sp - SH_REDZONE;
    if (has_neighbour(ts)) {
        if (new_sp > old_sp) sh_fill(sh_v(old_sp), 0xff, new_sp - old_sp);
        return;
    }
    if (from < lo) from = lo;
    if (how == RAISED || how == RESTORED) keep_red_zone(ts, new_sp);
    if (how == RAISED || how >= RESTORED) {
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
    rt_warn(ts,
            "Warning: client switching stacks?  SP change: 0x%lx --> 0x%lx\n"
            "         to suppress, use: --max-stackframe=%lu or greater%s",
            old_sp, new_sp, step,
            number < SWITCHES_TOLD ? "" : "\n         further instances of this message will not be shown.");
}

void rt_stack_changed(struct tstate *ts, u64 old_sp, u64 new_sp) { moved(ts, old_sp, new_sp, MOVED); }

void rt_stack_raised(struct tstate *ts, u64 old_sp, u64 new_sp) { moved(ts, old_sp, new_sp, RAISED); }

void rt_stack_loaded(struct tstate *ts, u64 old_sp, u64 new_sp) { moved(ts, old_sp, new_sp, LOADED); }

void rt_stack_restored(struct tstate *ts, u64 old_sp, u64 new_sp) { moved(ts, old_sp, new_sp, RESTORED); }

void rt_stack_returned(struct tstate *ts, u64 old_sp, u64 new_sp, bool there) {
    moved(ts, old_sp, new_sp, there ? RESUMED : RETURNED);
    /* The handler's own calls and returns have cleaned theirs. */
    if (!ts->stack_shared && new_sp > ts->stack_lo && new_sp <= ts->stack_hi) keep_red_zone(ts, new_sp);
}

void sh_clean_red_zone(struct tstate *ts) {
    u64 sp = ts->gpr[IP_RSP], lo = sh_not_lo(ts->redzone_not_lo);
    ts->umask &= ~(1ull << IP_U_REDZONE);
    ts->redzone_not_lo = 0;
    if (has_neighbour(ts)) return;
    if (lo >= ts->stack_lo && lo < sp && sp <= ts->stack_hi && sp - lo <= rt.chan->max_stackframe)
        sh_fill(sh_v(lo), 0xff, sp - lo);
}
