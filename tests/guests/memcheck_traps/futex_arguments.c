/* Which arguments a futex call has depends on its operation, and its numbers
 * are 32 bits wide (Rust's standard library passes them so). */
/* @expect: Syscall param futex(val) contains uninitialised byte(s)
 * @expect: Syscall param futex(uaddr2) contains uninitialised byte(s)
 * @expect: Syscall param futex(val3) contains uninitialised byte(s) */
#include <linux/futex.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t half(const uint64_t *undefined, uint32_t low) { return (*undefined & ~0xffffffffull) | low; }

int main(void) {
    uint64_t *u = malloc(4 * sizeof *u);
    uint32_t word = 1;
    syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, half(&u[0], 1), u[1], u[1], half(&u[2], 1));
    syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, u[0], u[1], u[1], u[2]);
    syscall(SYS_futex, &word, FUTEX_WAKE, u[0], NULL, NULL, 0);
    syscall(SYS_futex, &word, FUTEX_REQUEUE, 1, 1l, (uintptr_t)&word + (u[1] & 4), 0);
    syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 1l, &word, u[3]);
    free(u);
    return 0;
}
