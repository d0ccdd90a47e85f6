/* Instructions that read and write what is addressable in part: the read is none of the errors, the write is one, but
 * for a locked cmpxchg that finds another value, which stores nothing.  The halves of a pair are accesses of their own,
 * the upper one first. */
#include <stdlib.h>
#include <valgrind/memcheck.h>

#define CHANGE(name, code)                                                                                             \
    __attribute__((noinline)) static void name(void *p, long found) {                                                  \
        __asm__ volatile(code : "+a"(found) : "r"(p), "b"(1L), "c"(2L), "d"(0L) : "memory", "cc");                     \
    }

CHANGE(add, "addq $1, (%1)")
CHANGE(locked_add, "lock addq $1, (%1)")
CHANGE(xadd, "lock xadd %%rcx, (%1); mov $2, %%ecx")
CHANGE(cmpxchg, "lock cmpxchg %%rcx, (%1)")
CHANGE(unlocked_cmpxchg, "cmpxchg %%rcx, (%1)")
CHANGE(cmpxchg8b, "lock cmpxchg8b (%1)")
CHANGE(cmpxchg16b, "lock cmpxchg16b (%1)")

/* Each from a place of its own, so that none counts as another one's repetition. */
#define ALL(name, size, found)                                                                                         \
    __attribute__((noinline)) static void name(void (*change)(void *, long)) {                                         \
        char *p = calloc(16, 1); /* what lies behind the end decides, too */                                           \
        VALGRIND_MAKE_MEM_NOACCESS(p + size, 16 - size);                                                               \
        change(p, found);                                                                                              \
        free(p);                                                                                                       \
    }

ALL(six, 6, 0)
ALL(six_other, 6, 5)
ALL(four, 4, 0)
ALL(four_other, 4, 5)
ALL(twelve, 12, 0)
ALL(twelve_other, 12, 5)

int main(void) {
    static void (*const changes[])(void *, long) = {add, locked_add, xadd, cmpxchg, unlocked_cmpxchg, cmpxchg8b, cmpxchg16b};
    for (unsigned i = 0; i < sizeof changes / sizeof *changes; i++) {
        six(changes[i]);
        six_other(changes[i]);
        four(changes[i]);
        four_other(changes[i]);
        twelve(changes[i]);
        twelve_other(changes[i]);
    }
    return 0;
}
