/* NON_SIMD_CALL0..3: a function called between two guest instructions.  The
 * manual has it run on the real CPU; the JIT runs it as exactly.  Everything
 * the function may clobber is kept aside, because the request's macro tells
 * the compiler that only rdx changes. */
#include "requests/requests.h"
#include "runtime/hooks.h"
#include "runtime/base/rt.h"
#include "runtime/signals/sig.h"

#define MAX_DEPTH 8
#define XAREA     16384

struct saved_call {
    struct tstate *owner; /* NULL: free */
    u64 gpr[16], rflags, next_pc, magic_sp;
    u64 vgpr[16], umask;
    u8 *xarea;
};
static struct saved_call calls[MAX_DEPTH * 8];
static rt_lock_t lock;

/* A free entry; when there is none, one whose call was left by a longjmp: the
 * thread's stack has been cut off above its frame. */
static struct saved_call *take(struct tstate *ts) {
    struct saved_call *left = NULL;
    for (u32 i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (!calls[i].owner) return &calls[i];
        if (calls[i].owner == ts && calls[i].magic_sp < ts->gpr[IP_RSP]) left = &calls[i];
    }
    return left;
}

static void set_defined(struct tstate *ts, u32 gprs) {
    for (u32 r = 0; r < 16; r++)
        if (gprs >> r & 1) ts->vgpr[r] = 0;
    ts->umask &= ~((u64)gprs << IP_U_GPR0);
}

u64 rt_find_function(struct tstate *ts, const char *name) {
    struct ip_slot *s = rt_slot(ts);
    s->len = (u32)rt_strlen(name);
    rt_memcpy(s->data, name, s->len + 1);
    rt_request_python(ts, IP_R_FIND);
    return s->r[0];
}

bool rt_call_guest(struct tstate *ts, u64 fn, u64 next_pc) {
    u64 magic = RT_CALL_RETURN;
    rt_lock(&lock);
    struct saved_call *c = take(ts);
    if (c) c->owner = ts;
    rt_unlock(&lock);
    if (!c) return false;
    u64 sp = ((ts->gpr[IP_RSP] - 128) & ~15ull) - 8;
    if (rt_copy_to(sp, &magic, 8) < 0) {
        c->owner = NULL;
        return false;
    }
    if (!c->xarea) c->xarea = rt_pages(XAREA);
    rt_memcpy(c->gpr, ts->gpr, sizeof c->gpr);
    rt_memcpy(c->vgpr, ts->vgpr, sizeof c->vgpr);
    c->rflags = ts->rflags;
    c->umask = ts->umask;
    c->next_pc = next_pc;
    c->magic_sp = sp;
    sig_xsave(c->xarea, sig_xfeatures());
    rt_hook_written(sp, 8);
    ts->gpr[IP_RSP] = sp;
    ts->gpr[IP_RAX] = 0;
    /* The words of a request are read without checks, so its arguments are as good. */
    set_defined(ts, 1u << IP_RAX | 1u << IP_RDI | 1u << IP_RSI | 1u << IP_RDX | 1u << IP_RCX);
    ts->pc = fn;
    return true;
}

bool rt_call_return(struct tstate *ts) {
    struct saved_call *c = NULL;
    /* The innermost: a longjmp may have left older ones of this thread behind. */
    for (u32 i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (calls[i].owner == ts && calls[i].magic_sp + 8 == ts->gpr[IP_RSP]) c = &calls[i];
    if (!c) return false; /* a wild jump */
    u64 result = ts->gpr[IP_RAX];
    rt_memcpy(ts->gpr, c->gpr, sizeof c->gpr);
    rt_memcpy(ts->vgpr, c->vgpr, sizeof c->vgpr);
    ts->rflags = c->rflags;
    ts->umask = c->umask & ~(1ull << (IP_U_GPR0 + IP_RDX));
    ts->gpr[IP_RDX] = result;
    ts->vgpr[IP_RDX] = 0;
    ts->pc = c->next_pc;
    sig_xrstor(c->xarea, sig_xfeatures());
    c->owner = NULL;
    return true;
}
