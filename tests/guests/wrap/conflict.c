/* Two wrappers of one function in one object: which holds is decided by where they lie (-DSWAPPED: the other way). */
#include "header.h"

#include <stdio.h>

__attribute__((noipa)) int foo(int x) {
    return x;
}

#define WRAPPER(pattern, factor)                                                                                   \
    int I_WRAP_SONAME_FNNAME_ZZ(NONE, pattern)(int x) {                                                            \
        int result;                                                                                                \
        OrigFn fn;                                                                                                 \
        VALGRIND_GET_ORIG_FN(fn);                                                                                  \
        CALL_FN_W_W(result, fn, x);                                                                                \
        return result * factor;                                                                                    \
    }

#ifdef SWAPPED
WRAPPER(fooZa, 100)
#endif
WRAPPER(foo, 10)
#ifndef SWAPPED
WRAPPER(fooZa, 100)
#endif

int main(void) {
    printf("%d\n", foo(1));
    return 0;
}
