/* A library of one wrapper for function1 of object1.so; FACTOR tells wrappers apart. */
#include "header.h"
#ifndef PATTERN
#define PATTERN object1Zdso
#endif
int I_WRAP_SONAME_FNNAME_ZZ(PATTERN, function1)(int x) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_W(result, fn, x);
    return result * FACTOR;
}
