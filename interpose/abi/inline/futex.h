/* Waiting for a word in shared memory: the same call in a process with a libc and in one without, and errno stays. */
#ifndef INTERPOSE_ABI_FUTEX_H
#define INTERPOSE_ABI_FUTEX_H

#include <stdint.h>

enum { IP_FUTEX_WAIT, IP_FUTEX_WAKE }; /* futex(2): shared between processes */

/* What the kernel answers: 0 or more, or -errno.  timeout: seconds and nanoseconds, or NULL. */
static inline long ip_futex(uint32_t *word, int op, uint32_t value, const int64_t *timeout) {
    long result = 202; /* __NR_futex */
    register const int64_t *r10 __asm__("r10") = timeout;
    __asm__ volatile("syscall" : "+a"(result) : "D"(word), "S"(op), "d"(value), "r"(r10) : "rcx", "r11", "memory");
    return result;
}

/* Whoever waits for the bell, or is about to, hears it. */
static inline void ip_ring(uint32_t *bell) {
    __atomic_fetch_add(bell, 1, __ATOMIC_SEQ_CST);
    ip_futex(bell, IP_FUTEX_WAKE, 1, 0);
}

#endif
