/* Wrappers for one version each, by the version's name. */
#include "header.h"
int answer(void);
int call_old(void);
int I_WRAP_SONAME_FNNAME_ZZ(versionsZdso, answerZAV1)(void) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_v(result, fn);
    return result + 10;
}
int I_WRAP_SONAME_FNNAME_ZZ(versionsZdso, answerZAZAV2)(void) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_v(result, fn);
    return result + 100;
}
int main(void) {
    printf("%d %d\n", answer(), call_old());
    return 0;
}
