/* A replacement: never the original, and no address of it. */
#include "header.h"
NOINLINE int foo(int x) { return x + 1; }
NOINLINE int bar(int x) { return foo(x) + 1; }
int I_REPLACE_SONAME_FNNAME_ZU(NONE, foo)(int x) {
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    printf("replacement %d nraddr %lu\n", x, (unsigned long)fn.nraddr);
    return x * 100;
}
int main(void) {
    printf("%d\n", bar(4));
    return 0;
}
