/* A lock over a futex word, of threads and of processes that share the memory it lies in.
 *
 * Its word names the holder, as its users choose.  Who waits looks from time to time whether the holder is still there,
 * by a function of its own: a process may be killed at any moment, and the others go on. */
#ifndef INTERPOSE_ABI_SHARED_LOCK_H
#define INTERPOSE_ABI_SHARED_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/inline/futex.h"

struct ip_shared_lock {
    uint32_t word; /* 0: free */
};
#define IP_LOCK_WAITERS 0x80000000u
#define IP_LOCK_LOOK_NS 20000000
/* Holders of the translator's tables: the supervisor or the program.  No process's or thread's number: who executes
 * another program has its first thread's then, and in another PID namespace it may be anybody's. */
#define IP_SUPERVISOR 1u
#define IP_PROGRAM    2u

static inline bool ip_lock_try(struct ip_shared_lock *l, uint32_t me) {
    uint32_t none = 0;
    return __atomic_compare_exchange_n(&l->word, &none, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Once more: false after a wait in which nothing happened.  *taken_over: its holder had died amid what it did. */
static inline bool ip_lock_wait(struct ip_shared_lock *l, uint32_t me, bool (*gone)(uint32_t holder),
                                bool *taken_over) {
    const int64_t look[2] = {0, IP_LOCK_LOOK_NS};
    uint32_t v = __atomic_load_n(&l->word, __ATOMIC_RELAXED);
    if (v == 0) {
        /* Others may wait, too: whoever wakes says so for them. */
        return __atomic_compare_exchange_n(&l->word, &v, me | IP_LOCK_WAITERS, false, __ATOMIC_ACQUIRE,
                                           __ATOMIC_RELAXED);
    }
    if (!(v & IP_LOCK_WAITERS) &&
        !__atomic_compare_exchange_n(&l->word, &v, v | IP_LOCK_WAITERS, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return false;
    v |= IP_LOCK_WAITERS;
    if (ip_futex(&l->word, IP_FUTEX_WAIT, v, look) != -110 /* ETIMEDOUT */) return false;
    if (!gone(v & ~IP_LOCK_WAITERS)) return false;
    *taken_over =
        __atomic_compare_exchange_n(&l->word, &v, me | IP_LOCK_WAITERS, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    return *taken_over;
}

/* What ip_lock_try() did not get, however long it takes.  Had its holder died amid what it did? */
static inline bool ip_lock_await(struct ip_shared_lock *l, uint32_t me, bool (*gone)(uint32_t holder)) {
    bool taken_over = false;
    while (!ip_lock_wait(l, me, gone, &taken_over)) {}
    return taken_over;
}

static inline void ip_lock_give(struct ip_shared_lock *l) {
    if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) & IP_LOCK_WAITERS) ip_futex(&l->word, IP_FUTEX_WAKE, 1, 0);
}

#endif
