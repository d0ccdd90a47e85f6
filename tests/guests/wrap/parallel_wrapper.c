/* A wrapper for one function of parallel.c. */
#include "header.h"
int I_WRAP_SONAME_FNNAME_ZU(NONE, FUNCTION)(int x) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_W(result, fn, x);
    return result * 10;
}
