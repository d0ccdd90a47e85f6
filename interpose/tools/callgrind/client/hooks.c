/* What callgrind wants to be told (runtime/hooks.h), and what it asks and tells the supervisor. */
#include <asm/unistd.h>

#include "interpose/callgrind_numbers.h"
#include "runtime/hooks.h"
#include "tools/callgrind/client/simulate.h"
#include "trace/trace.h"

struct cg_options cg;
struct cg_root cg_root;

/* ---- The supervisor ------------------------------------------------------------------------------ */

static void ask(struct tstate *ts, u64 number, u64 a, u64 b, void *answer, u64 bytes) {
    struct ip_slot *s = rt_slot(ts);
    u64 words[6] = {number, a, b};
    memcpy(s->data, words, sizeof words);
    s->len = sizeof words;
    s->a[0] = s->r[2] = 0;
    rt_request_python(ts, IP_R_REQUEST);
    if (answer && s->r[2]) memcpy(answer, s->data + sizeof(struct ip_put), bytes);
}

void cg_ask_dump(struct thread *t, u32 why, u32 function) { ask(t->ts, INTERPOSE_RQ_CT_EVENT, why, function, 0, 0); }

void cg_function_options(struct thread *t, u32 number, struct cg_function_options *o) {
    o->callers = cg.callers;
    o->recursions = cg.recursions;
    ask(t->ts, INTERPOSE_RQ_CT_FUNCTION, number, 0, o, sizeof *o);
}

/* ---- Life -------------------------------------------------------------------------------------------- */

/* What interpose-control wants: counters[IP_N_TOOL] of the channel is 1 (do not count), 2 (count), or 0 (as it is). */
static void instrument(bool on) {
    if (on && !cg_root.instrument) cg_forget_lines();
    cg_root.instrument = on;
}

bool cg_counts(struct tstate *ts) {
    u64 wish = rt.chan->counters[IP_N_TOOL];
    if (wish) instrument(wish == 2);
    if (cg_root.instrument) return true;
    struct thread *t = cg_thread_of(ts);
    if (t->last || t->shared.depth) cg_unwind(t);
    return false;
}

void rt_hook_symbols(u64 *symbols) {
    extern char cg_arrive_stub[], cg_arrive_flags_stub[], cg_called_stub[], cg_called_flags_stub[], cg_linked_stub[],
        cg_returned_stub[];
    symbols[IP_SYM_TOOL] = (u64)&cg_root;
    symbols[IP_SYM_ARRIVE] = (u64)cg_arrive_stub;
    symbols[IP_SYM_ARRIVE_FLAGS] = (u64)cg_arrive_flags_stub;
    symbols[IP_SYM_CALLED] = (u64)cg_called_stub;
    symbols[IP_SYM_CALLED_FLAGS] = (u64)cg_called_flags_stub;
    symbols[IP_SYM_LINKED] = (u64)cg_linked_stub;
    symbols[IP_SYM_RETURNED] = (u64)cg_returned_stub;
}

enum rt_slow rt_hook_slow(struct tstate *ts, const struct ip_exit *x) {
    const struct ip_tr_block *b = (const struct ip_tr_block *)x->key;
    if ((x->kind_aux & 0xff) == IP_XS_ADDRESSES) {
        tr_some(ts, x);
        return RT_SLOW_RESUME;
    }
    if (!tr_settle_begin(ts)) {
        if ((x->kind_aux & 0xff) != IP_XS_REPEATED) cg_line_unwanted(ts, b);
        return RT_SLOW_RESUME;
    }
    if ((x->kind_aux & 0xff) == IP_XS_REPEATED)
        cg_turned(ts, b, x->kind_aux >> 8);
    else
        cg_arrive(ts, b);
    tr_settle_end(ts);
    return RT_SLOW_RESUME;
}

void rt_hook_start(struct tstate *ts) {
    ask(ts, INTERPOSE_RQ_CT_OPTIONS, 0, 0, &cg, sizeof cg);
    cg_root.instrument = cg.instrument;
}

void rt_hook_thread_begin(struct tstate *ts) {
    if (cg_in_line())
        cg_line_begin(ts);
    else
        tr_thread_begin(ts);
}

void rt_hook_thread_end(struct tstate *ts) {
    tr_thread_end(ts);
    if (!tr_settle_begin(ts)) return;
    if (cg_in_line())
        cg_line_end(ts);
    else
        cg_unwind(cg_thread_of(ts));
    tr_settle_end(ts);
}

void rt_hook_leaving(struct tstate *ts, bool for_exec) {
    if (cg_in_line()) {
        cg_line_leaving(ts, for_exec);
        return;
    }
    tr_leaving(ts, for_exec);
    cg_use_ends();
}

void rt_hook_fork_lock(enum rt_fork_phase phase, bool lock) {
    if (phase != RT_FORK_INNER) return;
    cg_threads_fork_lock(lock);
    cg_last_level_fork_lock(lock);
}

void rt_hook_fork(struct tstate *ts, bool child) {
    if (child) cg_threads_forked(ts);
    if (!cg_in_line())
        tr_fork(ts, child);
    else if (child && tr_settle_forked())
        cg_line_anew(ts);
}
void rt_hook_full(struct tstate *ts) { tr_full(ts); }
void rt_hook_left(struct tstate *ts, const struct ip_block *b, const struct ip_point *p) {
    if (cg_in_line())
        cg_line_left(ts, b, p);
    else
        tr_left(ts, b, p);
}

void rt_hook_signal(struct tstate *ts, int sig, u64 pc, u64 sp) {
    (void)sig, (void)pc;
    tr_flush(ts);
    if (!tr_settle_begin(ts)) return;
    if (cg_in_line())
        cg_line_signal(ts, sp);
    else if (cg_counts(ts))
        cg_signal(cg_thread_of(ts), sp);
    tr_settle_end(ts);
}

void rt_hook_sigreturn(struct tstate *ts) {
    tr_flush(ts);
    if (!tr_settle_begin(ts)) return;
    if (cg_in_line())
        cg_line_sigreturn(ts);
    else if (cg_counts(ts))
        cg_sigreturn(cg_thread_of(ts));
    tr_settle_end(ts);
}

/* ---- System calls ------------------------------------------------------------------------------------ */

static u64 now(int clock) {
    i64 t[2];
    sys2(__NR_clock_gettime, clock, (long)t);
    return (u64)t[0] * 1000000000ull + (u64)t[1];
}

static void poll(struct tstate *ts) {
    if (!cg_in_line() || !tr_settle_begin(ts)) return;
    cg_line_poll(ts);
    tr_settle_end(ts);
}

void rt_hook_syscall_before(struct tstate *ts, long nr, const u64 args[6]) {
    (void)nr, (void)args;
    poll(ts);
    tr_flush(ts); /* it may take long, and a dump wants all */
    if (!cg.systime) return;
    struct thread *t = cg_thread_of(ts);
    t->syscall_began = now(1 /* CLOCK_MONOTONIC */);
    t->syscall_cpu = now(3 /* CLOCK_THREAD_CPUTIME_ID */);
}

void rt_hook_syscall_after(struct tstate *ts, long nr, const u64 args[6], long result) {
    (void)args;
    if (!cg_in_line()) tr_sysret(ts, nr, result); /* which may have set the base of FS */
    if (!cg.systime) return;
    struct thread *t = cg_thread_of(ts);
    struct cg_counter *c = t->last;
    if (!cg_root.instrument || !t->collects || !c || !t->done) return;
    const u64 spent[3] = {1, (now(1) - t->syscall_began) / cg.systime, now(3) - t->syscall_cpu};
    u64 *extra = cg_extra(t, c, t->done - 1);
    for (u32 i = 0; i < 3; i++) {
        int place = cg_place(CG_SYSCOUNT + i);
        if (place < 0) continue;
        extra[place] += spent[i];
        t->shared.total[place] += spent[i];
    }
}

/* ---- Requests -------------------------------------------------------------------------------------------- */

bool rt_hook_request(struct tstate *ts, u64 code, const u64 args[5], u64 *result) {
    (void)args;
    switch (code) {
    case INTERPOSE_RQ_CT_DUMP_STATS:
    case INTERPOSE_RQ_CT_DUMP_STATS_AT:
    case INTERPOSE_RQ_CT_ZERO_STATS:
        tr_flush(ts); /* what has run before it counts; the supervisor does the rest */
        return false;
    case INTERPOSE_RQ_CT_TOGGLE_COLLECT: {
        tr_flush(ts);
        struct thread *t = cg_thread_of(ts);
        if (!tr_settle_begin(ts)) break;
        if (cg_in_line())
            cg_line_collect(ts, !t->collects);
        else
            t->collects = !t->collects;
        tr_settle_end(ts);
        break;
    }
    case INTERPOSE_RQ_CT_START_INSTRUMENTATION:
        tr_flush(ts);
        rt.chan->counters[IP_N_TOOL] = 0;
        instrument(true);
        poll(ts);
        break;
    case INTERPOSE_RQ_CT_STOP_INSTRUMENTATION:
        tr_flush(ts);
        rt.chan->counters[IP_N_TOOL] = 0;
        instrument(false);
        if (!tr_settle_begin(ts)) break;
        if (cg_in_line())
            cg_line_poll(ts);
        else
            cg_counts(ts);
        tr_settle_end(ts);
        break;
    default: return false;
    }
    *result = 0;
    return true;
}
