/* Errors: stack traces, deduplication, and the message to the supervisor.
 *
 * An error met for the first time is described once in the channel and waits
 * for Python; the same error again (same kind, pc and stack) only counts, in a
 * table that Python reads at exit.
 */
#include <asm/unistd.h>

#include "runtime/base/peek.h"
#include "runtime/core/core.h"
#include "runtime/core/errors.h"
#include "runtime/hooks.h"
#include "runtime/seam.h"

#define FIRST_SLOTS 1024 /* a power of two */

static rt_lock_t lock;
static struct ip_err_table *table;

/* Never below none: enabling what is enabled must not outweigh a later disabling. */
void rt_error_disable(struct tstate *ts, long delta) {
    i64 off;
    if (__builtin_add_overflow((i64)rt_th(ts)->errors_off, delta, &off)) off = delta < 0 ? 0 : (i64)(~0ull >> 1);
    rt_th(ts)->errors_off = off < 0 ? 0 : (u64)off;
}

bool rt_errors_are_off(struct tstate *ts) {
    return rt_th(ts)->errors_off || ((rt.chan->shows & IP_HIDE_VFORKED) && rt_th(ts)->vfork_child);
}

/* How many of n frames stay: where the newest is the same as one shortly before, the turn between them goes.  Like
 * drop_cycle of interpose/elf/unwind.py.  The first is no return address, and is never the same. */
static u32 merged(const u64 *frames, u32 n) {
    for (u32 len = 1; len <= rt.chan->merge_frames && len + 1 < n; len++)
        if (frames[n - 1] == frames[n - 1 - len]) return n - len;
    return n;
}

/* Is the entry of a call still under way, when frames below sp are over?  seen: the newest that a trace has shown.  It
 * is while its word is at or above sp and still holds the address; or, of the next one, while that was moved up. */
static bool is_under_way(const struct tstate *ts, const struct ip_csent *e, const struct ip_csent *seen, u64 sp) {
    if (!e->retaddr) return false;
    if (rt_return_slot(e) >= sp) return rt_below_is(e->above, e->retaddr); /* the program may have unmapped it */
    const struct ip_csent *newer = (u64)e == ts->cs_top ? NULL : e + 1;
    return newer == seen && rt_callstack_is_moved(ts, e, sp);
}

u32 rt_stack_trace(struct tstate *ts, u64 *frames, u32 max) {
    u64 sp = ts->gpr[IP_RSP];
    const struct ip_csent *seen = NULL;
    u32 n = 0;
    if (!max) return 0;
    frames[n++] = rt_pc(ts->pc);
    u64 p;
    for (p = ts->cs_top; p >= ts->cs_base && p < ts->cs_limit && n < max; p -= sizeof(struct ip_csent)) {
        const struct ip_csent *e = (const struct ip_csent *)p;
        u64 slot = rt_return_slot(e), ret;
        if (rt_is_interrupted(e, seen)) sp = e->above;
        if (!is_under_way(ts, e, seen, sp)) continue;
        ret = e->retaddr;
        seen = e;
        /* Called by a request: behind this word is where that is. */
        if (ret == RT_CALL_RETURN && rt_copy_from(&ret, slot + 8, 8) < 0) continue;
        frames[n++] = ret;
        n = merged(frames, n);
        if (slot >= sp) sp = slot + 8; /* outer frames lie above */
    }
    if (p < ts->cs_limit) rt_callstack_looked(ts, (const struct ip_csent *)p, n);
    return n;
}

/* Is the entry's frame this one, above what *least says?  Then that is for the next one. */
static inline bool frame_is(const struct ip_csent *e, u64 frame, u64 *least) {
    u64 above = e->above;
    if (e->retaddr != frame || above < *least || !rt_below_is(above, frame)) return false;
    *least = above + sizeof(u64);
    return true;
}

/* As rt_stack_trace.  What most often is the case comes first: every allocation asks. */
bool rt_stack_is(struct tstate *ts, const u64 *frames, u32 n, u32 max) {
    const u64 *f = frames + 1, *end = frames + n;
    const struct ip_csent *e = (const struct ip_csent *)ts->cs_top, *base = (const struct ip_csent *)ts->cs_base;
    u64 sp = ts->gpr[IP_RSP];
    if (frames[0] != rt_pc(ts->pc) || n > max || rt.chan->merge_frames || ts->cs_top >= ts->cs_limit) return false;
    if (end - f > e + 1 - base) return false;
    /* All of them, one after the other: nothing more is asked of each. */
    u64 least = sp + sizeof(u64);
    for (u64 next = least; end - f >= 4 && frame_is(e, f[0], &next) && frame_is(e - 1, f[1], &next) &&
                           frame_is(e - 2, f[2], &next) && frame_is(e - 3, f[3], &next);
         least = next) {
        f += 4;
        e -= 4;
    }
    for (; f != end && frame_is(e, *f, &least); e--) f++;
    const struct ip_csent *last = f > frames + 1 ? e + 1 : NULL;
    for (sp = least - sizeof(u64); f != end; e--) {
        if (e < base) return false;
        u64 ret = e->retaddr;
        if (rt_is_interrupted(e, last)) sp = e->above;
        bool seen = is_under_way(ts, e, last, sp);
        if (seen && ret != *f) return false;
        if (seen) {
            if (rt_return_slot(e) >= sp) sp = e->above;
            last = e;
            f++;
        }
    }
    if (n < max) /* there are no more */
        for (; e >= base; e--) {
            if (rt_is_interrupted(e, last)) sp = e->above;
            if (is_under_way(ts, e, last, sp)) return false;
        }
    rt_callstack_looked(ts, e, n);
    return true;
}

static u64 mix(u64 h, u64 x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15ull;
    return h ^ (h >> 29);
}

static bool is_behind_syscall(u64 pc) {
    u16 insn;
    return rt_copy_from(&insn, pc - sizeof insn, sizeof insn) == 0 && insn == RT_SYSCALL_BYTES;
}

/* What makes two errors the same: kind, size, name and the first frames; never
 * the address (docs/spec/output.md section 3: kind, extra and stack).  Of a system
 * call's stack the innermost may be left out (report/stack.py), which only names tell.
 * A child by vfork counts its own. */
static u64 hash_error(struct tstate *ts, const struct ip_error *e) {
    u32 most = rt.chan->error_frames + (is_behind_syscall(e->pc) ? IP_FRAMES_OF_CALL : 0);
    u32 depth = e->n_frames < most ? e->n_frames : most;
    u64 h = mix(mix(0x1d + (table ? table->outdated : 0), e->kind), e->size) + rt_th(ts)->vforked.number;
    for (u32 i = 0; i < depth; i++) h = mix(h, e->frames[i]);
    for (u32 i = 0; i < sizeof e->text && e->text[i]; i++) h = mix(h, e->text[i]);
    return h ? h : 1;
}

/* The place of a hash: its own, or an empty one, for a quarter of the slots is. */
static struct ip_err_slot *place_of(u64 hash) {
    struct ip_err_slot *slots = (struct ip_err_slot *)table->slots;
    u64 at = hash & (table->capacity - 1);
    while (slots[at].hash && slots[at].hash != hash) at = (at + 1) & (table->capacity - 1);
    return &slots[at];
}

static void grow(void) {
    const struct ip_err_slot *old = (const struct ip_err_slot *)table->slots;
    u64 count = table->capacity;
    table->capacity = count ? 2 * count : FIRST_SLOTS;
    table->slots = (u64)rt_pages(table->capacity * sizeof *old);
    for (u64 i = 0; i < count; i++)
        if (old[i].hash) *place_of(old[i].hash) = old[i];
    if (count) rt_free_pages((void *)old, count * sizeof *old);
}

/* The record of a repeated error, or a new one (*fresh). */
static struct ip_err_slot *find_slot(u64 hash, u32 kind, bool *fresh) {
    struct ip_err_slot *s = place_of(hash);
    *fresh = !s->hash;
    if (!*fresh) return s;
    if (table->n_errors >= table->capacity / 4 * 3) {
        grow();
        s = place_of(hash);
    }
    s->hash = hash;
    s->kind = kind;
    s->index = ++table->n_errors;
    return s;
}

/* So many errors have been met that the supervisor wants to know: it stops them, or says when to ask again. */
static bool is_enough(struct tstate *ts, struct ip_error *e) {
    while (table->total >= rt.chan->errors_until && !rt.chan->errors_stopped) {
        rt_unlock(&lock);
        struct ip_slot *slot = rt_slot(ts);
        u32 kind = e->kind;
        e->kind = IP_E_NONE;
        slot->len = sizeof *e;
        slot->a[0] = 0;
        rt_request_python(ts, IP_R_ERROR);
        e->kind = kind;
        rt_lock(&lock);
    }
    return rt.chan->errors_stopped;
}

/* The record is built in the thread's channel slot: no copy, no stack. */
struct ip_error *rt_error_begin(struct tstate *ts, int kind) {
    struct ip_error *e = (struct ip_error *)rt_slot(ts)->data;
    _Static_assert(sizeof *e <= IP_SLOT_DATA, "an error fits in a slot");
    memset(e, 0, __builtin_offsetof(struct ip_error, frames));
    e->text[0] = 0;
    e->kind = (u32)kind;
    e->pc = rt_pc(ts->pc);
    e->sp = ts->gpr[IP_RSP];
    u32 want = (u32)rt.chan->num_callers;
    if (!want || want > sizeof e->frames / sizeof e->frames[0]) want = 12;
    e->n_frames = rt_stack_trace(ts, e->frames, want);
    return e;
}

void rt_error_end(struct tstate *ts, struct ip_error *e) {
    if (rt.chan->errors_stopped) return;
    if (rt_errors_are_off(ts) || rt_call_is_silent(ts) || rt_debug_was_told(ts, e->pc, e->sp)) return;
    bool fresh;
    u64 hash = hash_error(ts, e);
    rt_lock(&lock);
    if (!table) {
        table = rt_pages(sizeof *table);
        table->version = IP_ABI_VERSION;
        grow();
        rt.chan->rt_symbols[IP_SYM_STATS] = (u64)table;
    }
    if (is_enough(ts, e)) {
        rt_unlock(&lock);
        return;
    }
    struct ip_err_slot *s = find_slot(hash, e->kind, &fresh);
    table->total++;
    s->count++;
    u32 index = s->index;
    rt_unlock(&lock);
    if (!fresh) return;
    e->aux[3] = index;
    if (e->addr && !e->aux[2]) e->aux[2] = rt_hook_describe(e->addr);
    struct ip_slot *slot = rt_slot(ts);
    slot->len = sizeof *e;
    slot->a[0] = index;
    u64 pc = e->pc, sp = e->sp;
    rt_request_python(ts, IP_R_ERROR);
    if (rt_debugged() & IP_DBG_STOP) rt_debug_told(ts, pc, sp);
    if (slot->r[0]) /* --exit-on-first-error: the report is out */
        sys1(__NR_exit_group, (long)slot->r[1]);
}

u64 rt_errors_met(void) {
    const struct ip_err_table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
    return t ? __atomic_load_n(&t->total, __ATOMIC_ACQUIRE) : 0;
}

void rt_error_fork_lock(bool take) {
    if (take)
        rt_lock(&lock);
    else
        rt_unlock(&lock);
}
