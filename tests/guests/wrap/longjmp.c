/* Out of wrappers and of originals by longjmp, again and again. */
#include <setjmp.h>
#include "header.h"
static jmp_buf out;
static volatile int wraps;
NOINLINE int foo(int x) {
    if (x == 2) longjmp(out, 3);
    return x;
}
int I_WRAP_SONAME_FNNAME_ZU(NONE, foo)(int x) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    wraps++;
    if (x == 1) longjmp(out, 2);
    CALL_FN_W_W(result, fn, x);
    return result + 100;
}
int main(void) {
    volatile int from_wrapper = 0, from_original = 0;
    volatile long total = 0;
    for (volatile int i = 0; i < 3000; i++) {
        int how = setjmp(out);
        if (how == 0)
            total += foo(i % 3);
        else if (how == 2)
            from_wrapper++;
        else
            from_original++;
    }
    printf("%d %d %ld wraps %d\n", from_wrapper, from_original, total, wraps);
    return 0;
}
