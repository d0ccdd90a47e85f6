/* The end of a process with several threads: all but one leave guest code for good; and who must not be caught amid a
 * fork or an exec.
 */
#include "runtime/core/core.h"
#include "runtime/signals/sig.h"

static u32 stopping; /* set by the thread that ends the process */
static u32 held_off; /* by so many threads, in a fork or an exec */
static struct tstate *stopper;

void sig_after_fork(struct tstate *ts) {
    sig_priv(ts)->tiles = false; /* the child has used none */
    stopping = held_off = 0;
    stopper = NULL;
    sig_table_untell();
}

/* In either order with sig_stop_others, one of the two sees what the other has done. */
bool sig_is_ending(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&stopping, __ATOMIC_SEQ_CST) != th->pid || stopper == ts) return false;
    th->pending = 1; /* parks on the way back */
    return true;
}

bool sig_hold_off_end(struct tstate *ts) {
    if (rt_th(ts)->vfork_child) return true; /* a process of its own, and when it is killed it gives nothing back */
    __atomic_fetch_add(&held_off, 1, __ATOMIC_SEQ_CST);
    if (!sig_is_ending(ts)) return true;
    sig_admit_end(ts);
    return false;
}

void sig_admit_end(struct tstate *ts) {
    if (!rt_th(ts)->vfork_child) __atomic_fetch_sub(&held_off, 1, __ATOMIC_SEQ_CST);
}

static RT_NORETURN void park(struct tstate *ts) {
    sig_block_everything();
    __atomic_store_n(&sig_priv(ts)->parked, 1, __ATOMIC_RELEASE);
    sig_pose(ts);
}

bool sig_park_at_end(struct tstate *ts) {
    if (__atomic_load_n(&stopping, __ATOMIC_ACQUIRE) != rt_th(ts)->pid) return false;
    if (stopper != ts) park(ts);
    return true;
}
static void nap(void) {
    i64 pause[2] = {0, 500000};
    sys2(__NR_nanosleep, (long)pause, 0);
}

void sig_stop_others(struct tstate *ts) {
    u32 nobody = 0, me = rt_th(ts)->pid;
    if (stopper == ts) return; /* a final call came back */
    if (!__atomic_compare_exchange_n(&stopping, &nobody, me, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) park(ts);
    stopper = ts;
    while (__atomic_load_n(&held_off, __ATOMIC_SEQ_CST)) nap();
    for (u32 i = 0; i < thread_count(); i++) {
        struct tstate *o = rt_thread_by_index(i);
        if (o != ts && rt_is_thread(o) && rt_th(o)->tid) sig_kick(rt_th(o));
    }
    for (u32 i = 0; i < thread_count(); i++) {
        struct tstate *o = rt_thread_by_index(i);
        struct thread_wait w = {0};
        /* A thread that stands still counts as away. */
        while (o != ts && !rt_th(o)->vfork_child && !sig_priv(o)->parked && rt_is_inside(o) && thread_wait(o, &w));
    }
}
