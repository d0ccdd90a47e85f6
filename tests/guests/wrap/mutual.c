/* Wrapped functions that call each other, and a wrapper that calls wrapped functions before its original. */
#include "header.h"
static int wraps[2];
int is_odd(int n);
NOINLINE int is_even(int n) { return n == 0 ? 1 : is_odd(n - 1); }
NOINLINE int is_odd(int n) { return n == 0 ? 0 : is_even(n - 1); }
NOINLINE int outer(int n) { return n * 2; }
int I_WRAP_SONAME_FNNAME_ZU(NONE, is_even)(int n) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    wraps[0]++;
    CALL_FN_W_W(result, fn, n);
    return result;
}
int I_WRAP_SONAME_FNNAME_ZU(NONE, is_odd)(int n) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    wraps[1]++;
    CALL_FN_W_W(result, fn, n);
    return result;
}
int I_WRAP_SONAME_FNNAME_ZU(NONE, outer)(int n) {
    int result, parity;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    parity = is_even(n);
    CALL_FN_W_W(result, fn, n);
    return result * 10 + parity;
}
int main(void) {
    printf("%d\n", outer(10));
    printf("%d\n", outer(7));
    printf("wraps %d %d\n", wraps[0], wraps[1]);
    return 0;
}
