/* A wrapper library in two versions, which differ in where the wrapper is and in its factor. */
#include "header.h"
#ifdef NEW
#define FACTOR 100
__attribute__((noipa)) int unrelated_too(int x) { return -x; }
__attribute__((noipa)) int again_unrelated(int x) { return 2 - x; }
#else
#define FACTOR 10
#endif
int I_WRAP_SONAME_FNNAME_ZZ(object1Zdso, function1)(int x, void (*back)(void)) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_WW(result, fn, x, back);
    return result * FACTOR;
}
