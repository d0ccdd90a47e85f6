/* Client requests (docs/spec/client-requests.md sections 1 to 3): those the runtime can
 * answer by itself; the rest go to the supervisor.
 */
#include <asm/unistd.h>
#include "interpose/numbers.h"
#include "runtime/core/core.h"
#include "runtime/hooks.h"
#include "requests/requests.h"

#include "runtime/core/errors.h"

#define TRACE_MAX 500

static bool client_call(struct tstate *ts, u32 n, const u64 args[5], u64 next_pc) {
    static const u8 where[] = {IP_RSI, IP_RDX, IP_RCX};
    if (!args[0] || !rt_call_guest(ts, args[0], next_pc, true)) return false;
    ts->gpr[IP_RDI] = ts->tid_guest;
    for (u32 i = 0; i < n; i++) ts->gpr[where[i]] = args[1 + i];
    return true;
}

/* The answer's bytes for guest memory: written here, where a fault is survived
 * and the shadow is at hand. */
u32 rt_put_answer(const struct ip_slot *s) { return rt_put(s->data, s->r[2] <= sizeof s->data ? s->r[2] : 0); }

u32 rt_put(const u8 *data, u64 end) {
    u32 failed = 0;
    u64 at = 0;
    while (at + sizeof(struct ip_put) <= end) {
        struct ip_put p;
        memcpy(&p, data + at, sizeof p);
        at += sizeof p;
        if (p.len > end - at) return failed + 1;
        struct rt_seg seg; /* the program's own memory, not ours beside it */
        if (p.len && rt_find_seg(p.addr, &seg) && p.len <= rt_client_end() - p.addr &&
            rt_find_seg(p.addr + p.len - 1, &seg) && rt_copy_to(p.addr, data + at, p.len) == 0)
            rt_hook_written(p.addr, p.len);
        else
            failed++;
        at += RT_ROUND_UP(p.len, 8);
    }
    return failed;
}

/* Requests that nobody knows, of another tool's for instance: programs that mark their own heap make a great many.
 * Each at the place that its number has, the last one met there. */
static u64 unknown[64];
static u64 *place_of(u64 code) { return &unknown[(code ^ code >> 16) % (sizeof unknown / sizeof unknown[0])]; }

/* What Python answers. */
static u64 ask(struct tstate *ts, const u64 w[6], u64 next_pc, u64 dflt) {
    struct ip_slot *s = rt_slot(ts);
    u64 *known = place_of(w[0]);
    if (w[0] && __atomic_load_n(known, __ATOMIC_RELAXED) == w[0]) return dflt;
    struct rt_state now = rt_state_now();
    u64 result;
    if (rt_standing_answer(w, now, &result)) return result;
    s->a[0] = dflt;
    s->a[1] = next_pc;
    s->a[2] = ts->gpr[IP_RSP];
    s->r[2] = s->r[3] = 0;
    memcpy(s->data, w, 6 * sizeof *w);
    s->len = 6 * sizeof *w;
    if (w[0] == INTERPOSE_RQ_PRINTF_BACKTRACE_VALIST_BY_REF && (rt.flags & IP_C_CALLSTACK))
        s->len += (u32)sizeof(u64) * rt_stack_trace(ts, (u64 *)(void *)s->data + 6, TRACE_MAX);
    rt_request_python(ts, IP_R_REQUEST);
    if (s->r[3] == IP_ANSWER_ENDS) sys1(__NR_exit_group, (long)s->r[1]);
    if (s->r[3] == IP_ANSWER_STANDS) rt_keep_answer(w, now, s);
    if (s->r[3] == IP_ANSWER_NONE) __atomic_store_n(known, w[0], __ATOMIC_RELAXED);
    if (w[0] == INTERPOSE_RQ_CLO_CHANGE) /* from -v on they are told */
        for (u32 i = 0; i < sizeof unknown / sizeof unknown[0]; i++) __atomic_store_n(&unknown[i], 0, __ATOMIC_RELAXED);
    rt_put_answer(s);
    return s->r[0];
}

/* Of any range, what can hold code. */
static void discard(struct tstate *ts, u64 addr, u64 len) {
    u64 end = rt_client_end();
    if (addr < end) rt_invalidate(ts, addr, len < end - addr ? len : end - addr);
}

/* The target is bound: the supervisor had it from an earlier run. */
static bool is_ahead(u64 resolver, u64 target) {
    u64 state = __atomic_load_n(&rt.chan->ahead_state, __ATOMIC_ACQUIRE), met = state & 0xffff;
    if (met >= (state >> 16 & 0xffff)) return false;
    const struct ip_ahead *a = &rt.chan->ahead[met];
    return a->resolver == resolver && a->target == target &&
           __atomic_compare_exchange_n(&rt.chan->ahead_state, &state, state + 1, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_RELAXED);
}

/* What an indirect function chose.  Each library that has a relocation for it has its resolver run. */
static void chosen(struct tstate *ts, const u64 w[6], u64 next_pc) {
    struct rt_state now = rt_state_now();
    if (rt_choice_is_told(w[1], w[2], now)) return;
    if (!is_ahead(w[1], w[2])) ask(ts, w, next_pc, 0);
    rt_choice_told(w[1], w[2], now);
}

/* False: nobody here knows it. */
static bool answer_here(struct tstate *ts, u64 code, const u64 args[5], u64 *result) {
    switch (code) {
    case INTERPOSE_RQ_RUNNING: *result = 1; return true;
    case INTERPOSE_RQ_DISCARD_TRANSLATIONS:
        discard(ts, args[0], args[1] ? args[1] : 1);
        *result = 0;
        return true;
    case INTERPOSE_RQ_REPLACES_MALLOC: *result = (rt.flags & IP_C_HEAP) != 0; return true;
    case INTERPOSE_RQ_STACK_REGISTER: *result = rt_client_stack_register(args[0], args[1]); return true;
    case INTERPOSE_RQ_STACK_DEREGISTER: rt_client_stack_deregister(args[0]); return true;
    case INTERPOSE_RQ_STACK_CHANGE: rt_client_stack_change(args[0], args[1], args[2]); return true;
    case INTERPOSE_RQ_INNER_THREADS: /* these are of Valgrind's insides */
    case INTERPOSE_RQ_VEX_INIT_FOR_IRI:
    case INTERPOSE_RQ_FREERES_DONE:
    case INTERPOSE_RQ_GET_MALLOCFUNCS: return true;
    case INTERPOSE_RQ_LOAD_PDB_DEBUGINFO: *result = 0; return true;
    case INTERPOSE_RQ_CHANGE_ERR_DISABLEMENT: rt_error_disable(ts, (long)args[0]); return true;
    default:
        /* Blocks and pools mean nothing where no heap is kept; programs mark them often. */
        return code >= INTERPOSE_RQ_MALLOCLIKE_BLOCK && code <= INTERPOSE_RQ_RESIZEINPLACE_BLOCK &&
               !(rt.flags & IP_C_HEAP);
    }
}

void rt_client_request(struct tstate *ts, u64 next_pc) {
    u64 w[6], result = ts->gpr[IP_RDX];
    ts->pc = next_pc;
    if (rt_copy_from(w, ts->gpr[IP_RAX], sizeof w) < 0) return; /* default, as natively */
    u64 code = w[0];
    const u64 *args = w + 1;

    if (code >= INTERPOSE_RQ_CLIENT_CALL0 && code <= INTERPOSE_RQ_CLIENT_CALL3) {
        if (client_call(ts, (u32)(code - INTERPOSE_RQ_CLIENT_CALL0), args, next_pc)) return;
        if (!args[0]) result = 0;
    } else if (code == INTERPOSE_RQ_HOOK) {
        result = rt_hooked_call(ts, args[0]);
    } else if (code == INTERPOSE_RQ_ADD_IFUNC_TARGET) {
        chosen(ts, w, next_pc);
        result = 0;
    } else if (!rt_hook_request(ts, code, args, &result) && !answer_here(ts, code, args, &result)) {
        result = ask(ts, w, next_pc, result);
    }
    rt_request_result(ts, result);
}
