/* The other spelling, which our header alone has. */
#include <interpose/interpose.h>
#include <stdio.h>
__attribute__((noipa)) int foo(int x) { return x + 1; }
__attribute__((noipa)) int bar_baz(int x) { return x + 2; }
__attribute__((noipa)) int qux(int x) { return x + 3; }
#ifdef __cplusplus
extern "C" {
#endif
int INTERPOSE_WRAP_SONAME_FNNAME_ZU(NONE, foo)(int x) {
    int result;
    InterposeOrigFn orig;
    INTERPOSE_GET_ORIG_FN(orig);
    INTERPOSE_CALL_FN_W_W(result, orig, x);
    INTERPOSE_CALL_FN_v_W(orig, x);
    return result * 10;
}
int INTERPOSE_WRAP_SONAME_FNNAME_ZZ(NONE, barZubaz)(int x) {
    int result;
    InterposeOrigFn orig;
    INTERPOSE_GET_ORIG_FN(orig);
    INTERPOSE_CALL_FN_W_W(result, orig, x);
    return result * 100;
}
int INTERPOSE_REPLACE_SONAME_FNNAME_ZU(NONE, qux)(int x) { return x * 1000; }
#ifdef __cplusplus
}
#endif
int main(void) {
    printf("%d %d %d\n", foo(1), bar_baz(1), qux(1));
    return 0;
}
