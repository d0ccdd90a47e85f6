// Mangled names, literal (ZU) and by wildcard (ZZ).
#include "header.h"
struct Box {
    int value;
    NOINLINE int grow(int by) { return value += by; }
    NOINLINE int shrink(int by) { return value -= by; }
    NOINLINE static int twice(int x) { return 2 * x; }
};
extern "C" {
int I_WRAP_SONAME_FNNAME_ZU(NONE, _ZN3Box4growEi)(Box *box, int by) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_WW(result, fn, box, by * 10);
    return result + 1000;
}
int I_WRAP_SONAME_FNNAME_ZZ(NONE, ZuZZN3Box6shrinkZa)(Box *box, int by) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_WW(result, fn, box, by * 2);
    return result + 2000;
}
}
int main() {
    Box box = {1};
    int a = box.grow(2), b = box.shrink(3);
    printf("%d %d %d value %d\n", a, b, Box::twice(4), box.value);
    return 0;
}
