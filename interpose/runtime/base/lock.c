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

#define A_THREAD 1u /* of the process whose memory it is */

bool rt_memory_shared, rt_alone = true;

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

void rt_lock(rt_lock_t *l) {
    if (rt_alone) {
        l->word = A_THREAD;
        return;
    }
    u32 me = own_name();
    if (!ip_lock_try(l, me)) ip_lock_await(l, me, is_gone);
}

bool rt_trylock(rt_lock_t *l) {
    if (rt_alone) {
        l->word = A_THREAD;
        return true;
    }
    return !rt_memory_shared && ip_lock_try(l, A_THREAD);
}

void rt_unlock(rt_lock_t *l) {
    if (rt_alone)
        l->word = 0;
    else
        ip_lock_give(l);
}
