/* Wrappers for late.c. */
#include "header.h"
size_t I_WRAP_SONAME_FNNAME_ZU(libcZdsoZa, strlen)(const char *s) {
    size_t result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_W(result, fn, s);
    return result + (s[0] == '#' ? 1000 : 0);
}
int I_WRAP_SONAME_FNNAME_ZU(NONE, mine)(int x) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_W(result, fn, x);
    return result * 10;
}
