/* Two wrappers for two names of one function, plain or indirect (those are in a library, -DLIBRARY): the better name's
 * holds, the one's that was resolved first.  -DSWAPPED: they lie the other way round. */
#ifdef LIBRARY

static int impl(int x) {
    return x;
}
static void *resolve_copy(void) { return impl; }
static void *resolve_move(void) { return impl; }
int copy(int x) __attribute__((ifunc("resolve_copy")));
int move(int x) __attribute__((ifunc("resolve_move")));

#else

#include "header.h"

#include <stdio.h>

__attribute__((noipa)) int open_it(int x) {
    return x;
}
int open_it64(int x) __attribute__((alias("open_it")));

int copy(int x);
int move(int x);

#define WRAPPER(soname, pattern, factor)                                                                           \
    int I_WRAP_SONAME_FNNAME_ZU(soname, pattern)(int x) {                                                          \
        int result;                                                                                                \
        OrigFn fn;                                                                                                 \
        VALGRIND_GET_ORIG_FN(fn);                                                                                  \
        CALL_FN_W_W(result, fn, x);                                                                                \
        return result * factor;                                                                                    \
    }

#ifdef SWAPPED
WRAPPER(NONE, open_it64, 100)
WRAPPER(libsharedZdso, move, 100)
#endif
WRAPPER(libsharedZdso, copy, 10)
WRAPPER(NONE, open_it, 10)
#ifndef SWAPPED
WRAPPER(NONE, open_it64, 100)
WRAPPER(libsharedZdso, move, 100)
#endif

int main(void) {
#ifdef MOVE_FIRST
    int moved = move(1);
    printf("%d %d %d %d\n", open_it(1), open_it64(1), copy(1), moved);
#else
    int copied = copy(1);
    printf("%d %d %d %d\n", open_it(1), open_it64(1), copied, move(1));
#endif
    return 0;
}

#endif
