/* NON_SIMD_CALL0..3: a function called between two guest instructions.  The
 * manual has it run on the real CPU; the JIT runs it as exactly, and reports nothing.  Everything
 * the function may clobber is kept aside, because the request's macro tells
 * the compiler that only rdx changes. */
#include "requests/requests.h"
#include "runtime/core/core.h"
#include "runtime/hooks.h"
#include "runtime/base/rt.h"
#include "runtime/memory/memory.h"
#include "runtime/signals/sig.h"

#define MAX_DEPTH 8
#define XAREA     16384

struct saved_call {
    struct tstate *owner; /* NULL: free */
    bool silent;          /* nothing is reported until it returns */
    u32 outer;            /* rt_thread.unwrapped as it was */
    u64 cs_at;            /* its entry of the call stack, or 0 */
    u64 gpr[16], rflags, next_pc, magic_sp;
    u64 vgpr[16], umask;
    u8 *xarea;
};
static struct saved_call calls[MAX_DEPTH * 8];
static u32 n_used; /* those from here on were never anybody's */
static rt_lock_t lock;

void rt_calls_fork_lock(bool hold) {
    if (hold)
        rt_lock(&lock);
    else
        rt_unlock(&lock);
}

/* A free entry; when there is none, one whose call was left by a longjmp: the
 * thread's stack has been cut off above its frame. */
static struct saved_call *take(struct tstate *ts) {
    struct saved_call *left = NULL;
    for (u32 i = 0; i < n_used; i++) {
        if (!calls[i].owner) return &calls[i];
        if (calls[i].owner == ts && calls[i].magic_sp < ts->gpr[IP_RSP]) left = &calls[i];
    }
    return n_used < sizeof calls / sizeof calls[0] ? &calls[n_used++] : left;
}

static void set_defined(struct tstate *ts, u32 gprs) {
    for (u32 r = 0; r < 16; r++)
        if (gprs >> r & 1) ts->vgpr[r] = 0;
    ts->umask &= ~((u64)gprs << IP_U_GPR0);
}

/* It is the first object's that has it, in the order of mapping: what comes later changes nothing. */
u64 rt_find_function(struct tstate *ts, const char *name) {
    struct ip_slot *s = rt_slot(ts);
    struct rt_thread *th = rt_th(ts);
    u32 hash = 0;
    for (const char *c = name; *c; c++) hash = hash * 31 + (u8)*c;
    u64 key = (u64)hash << 32 | rt_objects_gone;
    if (th->found_at && th->found_key == key) return th->found_at;
    s->len = (u32)rt_strlen(name);
    memcpy(s->data, name, s->len + 1);
    rt_request_python(ts, IP_R_FIND);
    th->found_key = key;
    return th->found_at = s->r[0];
}

/* Is the call still under way, and not left by a longjmp?  As in a stack trace: frames above must lie below it. */
static bool under_way(const struct tstate *ts, const struct saved_call *c) {
    const struct ip_csent *seen = NULL;
    u64 sp = ts->gpr[IP_RSP], word;
    for (u64 p = ts->cs_top; c->cs_at && p >= c->cs_at; p -= sizeof(struct ip_csent)) {
        const struct ip_csent *e = (const struct ip_csent *)p;
        u64 slot = rt_return_slot(e);
        if (rt_is_interrupted(e, seen)) sp = e->above;
        if (!e->retaddr || slot < sp || rt_copy_from(&word, slot, 8) < 0 || word != e->retaddr) continue;
        if (p == c->cs_at) return e->retaddr == RT_CALL_RETURN && slot == c->magic_sp;
        seen = e;
        sp = slot + 8;
    }
    return false;
}

bool rt_call_is_silent(struct tstate *ts) {
    for (u32 i = 0; i < n_used; i++)
        if (calls[i].owner == ts && calls[i].silent && under_way(ts, &calls[i])) return true;
    return false;
}

bool rt_call_is_unwrapped(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    const struct saved_call *c = &calls[th->unwrapped - 1];
    /* The return has taken its address at most; above that a longjmp has left the call. */
    if (ts->gpr[IP_RSP] <= c->magic_sp + 8) return true;
    th->unwrapped = c->outer;
    return false;
}

bool rt_call_guest(struct tstate *ts, u64 fn, u64 next_pc, bool silent) {
    const u64 words[2] = {RT_CALL_RETURN, next_pc}; /* the second is for stack traces */
    rt_lock(&lock);
    struct saved_call *c = take(ts);
    if (c) c->owner = ts;
    rt_unlock(&lock);
    if (!c) return false;
    u64 sp = ((ts->gpr[IP_RSP] - 128) & ~15ull) - 24;
    if (rt_copy_to(sp, words, sizeof words) < 0) {
        c->owner = NULL;
        return false;
    }
    if (!c->xarea) c->xarea = rt_pages(XAREA);
    memcpy(c->gpr, ts->gpr, sizeof c->gpr);
    memcpy(c->vgpr, ts->vgpr, sizeof c->vgpr);
    c->rflags = ts->rflags;
    c->umask = ts->umask;
    c->next_pc = next_pc;
    c->magic_sp = sp;
    c->silent = silent;
    u32 self = (u32)(c - calls) + 1;
    c->outer = rt_th(ts)->unwrapped == self ? 0 : rt_th(ts)->unwrapped;
    rt_th(ts)->unwrapped = silent && rt.chan->user_bindings ? self : 0;
    c->cs_at = 0;
    if (rt.flags & IP_C_CALLSTACK) {
        rt_callstack_push(ts, RT_CALL_RETURN, sp);
        c->cs_at = ts->cs_top;
    }
    sig_xsave(c->xarea, sig_xfeatures());
    rt_hook_written(sp, sizeof words);
    ts->gpr[IP_RSP] = sp;
    ts->gpr[IP_RAX] = 0;
    ts->rflags &= ~(FL_AC | FL_DF); /* no function expects them, and nobody has called this one */
    /* The words of a request are read without checks, so its arguments are as good. */
    set_defined(ts, 1u << IP_RAX | 1u << IP_RDI | 1u << IP_RSI | 1u << IP_RDX | 1u << IP_RCX);
    ts->pc = rt_key(fn);
    return true;
}

bool rt_call_return(struct tstate *ts) {
    struct saved_call *c = NULL;
    /* The innermost: a longjmp may have left older ones of this thread behind. */
    for (u32 i = 0; i < n_used; i++)
        if (calls[i].owner == ts && calls[i].magic_sp + 8 == ts->gpr[IP_RSP]) c = &calls[i];
    if (!c) return false; /* a wild jump */
    u64 result = ts->gpr[IP_RAX];
    memcpy(ts->gpr, c->gpr, sizeof c->gpr);
    memcpy(ts->vgpr, c->vgpr, sizeof c->vgpr);
    ts->rflags = c->rflags;
    ts->umask = c->umask;
    rt_request_result(ts, result);
    ts->pc = c->next_pc;
    sig_xrstor(c->xarea, sig_xfeatures());
    rt_th(ts)->unwrapped = c->outer;
    c->owner = NULL;
    return true;
}
