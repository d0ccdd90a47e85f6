/* A wrapped function that calls itself is wrapped at each level. */
#include "header.h"
static int depth, deepest;
NOINLINE int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
int I_WRAP_SONAME_FNNAME_ZU(NONE, fact)(int n) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    depth++;
    if (depth > deepest) deepest = depth;
    CALL_FN_W_W(result, fn, n);
    depth--;
    return result + 1;
}
int main(void) {
    int value = fact(6);
    printf("%d depth %d\n", value, deepest);
    return 0;
}
