/* Locks over futex words.
 *
 * A child on our memory (clone without CLONE_THREAD, vfork) may be killed while it
 * holds one; its makers go on.  So a lock's word says which such process holds it,
 * and who waits for that one looks from time to time whether it is still there.
 * What it was changing stays as it was: better than a wait without end.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/futex.h>
#include <linux/wait.h>

#include "runtime/base/rt.h"

#define WAITERS  0x80000000u
#define A_THREAD 1u /* of this process: it ends with us */
#define LOOK_NS  20000000

bool rt_memory_shared, rt_alone = true;

static u32 holder(void) {
    if (!rt_memory_shared) return A_THREAD;
    u32 pid = rt_th(rt_current())->pid;
    return pid == rt.pid ? A_THREAD : pid;
}

bool rt_process_ended(u32 pid) {
    int info[32] = {0};
    if (sys2(__NR_kill, pid, 0) == -ESRCH) return true;
    /* Nobody has waited for it yet. */
    return sys5(__NR_waitid, P_PID, pid, (long)info, WEXITED | WNOHANG | WNOWAIT | __WALL, 0) == 0 && info[0] != 0;
}

static void lock_slowly(rt_lock_t *l, u32 me) {
    for (;;) {
        u32 v = __atomic_load_n(&l->v, __ATOMIC_RELAXED), by = v & ~WAITERS;
        if (v == 0 || (by != A_THREAD && rt_process_ended(by))) {
            if (__atomic_compare_exchange_n(&l->v, &v, me | WAITERS, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
            continue;
        }
        if (!(v & WAITERS) &&
            !__atomic_compare_exchange_n(&l->v, &v, v | WAITERS, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        long look[2] = {0, LOOK_NS};
        /* A shared futex: two processes run on this memory. */
        sys4(__NR_futex, (long)&l->v, FUTEX_WAIT, by | WAITERS, by == A_THREAD ? 0 : (long)look);
    }
}

void rt_lock(rt_lock_t *l) {
    if (rt_alone) {
        l->v = A_THREAD;
        return;
    }
    u32 expected = 0, me = holder();
    if (!__atomic_compare_exchange_n(&l->v, &expected, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        lock_slowly(l, me);
}

bool rt_trylock(rt_lock_t *l) {
    u32 expected = 0;
    if (rt_alone) {
        l->v = A_THREAD;
        return true;
    }
    return !rt_memory_shared &&
           __atomic_compare_exchange_n(&l->v, &expected, A_THREAD, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void rt_unlock(rt_lock_t *l) {
    if (rt_alone) {
        l->v = 0;
        return;
    }
    if (__atomic_exchange_n(&l->v, 0, __ATOMIC_RELEASE) & WAITERS) sys3(__NR_futex, (long)&l->v, FUTEX_WAKE, 1);
}
