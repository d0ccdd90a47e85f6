/* Function and object patterns: * and ?. */
#include "header.h"
NOINLINE int get_a(void) { return 1; }
NOINLINE int get_b(void) { return 2; }
NOINLINE int get_long(void) { return 3; }
NOINLINE int wset_a(void) { return 4; }
NOINLINE int of_x_y(void) { return 5; }
int I_WRAP_SONAME_FNNAME_ZZ(Za, wsetZuZa)(void) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_v(result, fn);
    return result + 100;
}
int I_WRAP_SONAME_FNNAME_ZZ(NONE, getZuZa)(void) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_v(result, fn);
    return result + 10;
}
int I_WRAP_SONAME_FNNAME_ZZ(NONEZa, ofZuZaZuy)(void) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_v(result, fn);
    return result + 1000;
}
int main(void) {
    printf("%d %d %d %d %d\n", get_a(), get_b(), get_long(), wset_a(), of_x_y());
    return 0;
}
