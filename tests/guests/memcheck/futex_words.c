/* The word of a futex: what the kernel writes is defined, and only what it reads is checked. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <valgrind/memcheck.h>

static long futex(unsigned *word, int operation) { return syscall(SYS_futex, word, operation, 0, 0, 0, 0); }

int main(void) {
    static const int operations[] = {FUTEX_LOCK_PI, FUTEX_TRYLOCK_PI};
    unsigned *word = malloc(sizeof *word);
    int wrong = 0;
    for (int i = 0; i < 2; i++) {
        *word = 0;
        VALGRIND_MAKE_MEM_UNDEFINED(word, sizeof *word); /* reported, once for each kind of lock */
        if (operations[i] == FUTEX_LOCK_PI ? futex(word, FUTEX_LOCK_PI) : futex(word, FUTEX_TRYLOCK_PI)) wrong |= 1;
        if ((*word & FUTEX_TID_MASK) != (unsigned)syscall(SYS_gettid)) wrong |= 2;
        if (futex(word, FUTEX_UNLOCK_PI)) wrong |= 4;
        if (*word) wrong |= 8;
    }
    free(word);
    if (futex(word, 99) != -1) wrong |= 16; /* no operation: nothing is read */
    return wrong;
}
