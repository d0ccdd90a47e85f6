/* A wrapper linked in: arguments, result, the original's side effect. */
#include "header.h"
static int side;
NOINLINE int foo(int x, int y) {
    side++;
    return x + y;
}
int I_WRAP_SONAME_FNNAME_ZU(NONE, foo)(int x, int y) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    printf("foo's wrapper: args %d %d\n", x, y);
    CALL_FN_W_WW(result, fn, x, y);
    printf("foo's wrapper: result %d\n", result);
    return result * 10;
}
int main(void) {
    printf("%d\n", foo(11, 22));
    printf("%d\n", foo(-1, -2));
    printf("side %d\n", side);
    return 0;
}
