/* The runtime's locks.
 *
 * A child on our memory (clone without CLONE_THREAD, vfork) may be killed while it
 * holds one; its makers go on, and it goes on when they are killed.  So a lock's word
 * says which such process holds it.
 * What it was changing stays as it was: better than a wait without end.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/wait.h>

#include "runtime/base/rt.h"

#define A_THREAD   1u  /* of the process whose memory it is */
#define MOST_TURNS 32u /* a turn is a pause of 40 to 140 clocks */

bool rt_memory_shared, rt_alone = true;
u64 rt_stacks_changed;

static u32 own_name(void) {
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

static bool is_gone(u32 holder) { return rt_process_ended(holder == A_THREAD ? rt.pid : holder); }

/* For about as long as most are held, a microsecond or two: to sleep and be woken takes two processors several.  It is
 * looked at less and less often, so that who has it takes it some times more, with all that it is about in its cache.
 */
static bool try_for_a_while(rt_lock_t *l, u32 me) {
    for (u32 turns = 1; turns <= MOST_TURNS; turns *= 2) {
        for (u32 i = 0; i < turns; i++) __builtin_ia32_pause();
        if (!__atomic_load_n(&l->word, __ATOMIC_RELAXED) && ip_lock_try(l, me)) return true;
    }
    return false;
}

void rt_lock(rt_lock_t *l) {
    if (rt_alone) {
        l->word = A_THREAD;
        return;
    }
    u32 me = own_name();
    bool taken_over = false;
    if (ip_lock_try(l, me)) return;
    while (!try_for_a_while(l, me) && !ip_lock_wait(l, me, is_gone, &taken_over))
        me |= IP_LOCK_WAITERS; /* others may wait, too: whoever wakes says so for them */
}

bool rt_trylock(rt_lock_t *l) {
    if (rt_alone) {
        l->word = A_THREAD;
        return true;
    }
    return ip_lock_try(l, own_name());
}

bool rt_trylock_soon(rt_lock_t *l) { return rt_trylock(l) || try_for_a_while(l, own_name()); }

void rt_unlock(rt_lock_t *l) {
    if (rt_alone)
        l->word = 0;
    else
        ip_lock_give(l);
}
