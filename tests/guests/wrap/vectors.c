/* What the compiler keeps in vector registers survives a call of the original (our header says so). */
#include "header.h"
NOINLINE double half(double x) { return x / 2; }
NOINLINE int clobber(int x) {
    __asm__ volatile("pxor %%xmm1, %%xmm1\n pxor %%xmm2, %%xmm2\n pxor %%xmm9, %%xmm9" ::: "xmm1", "xmm2", "xmm9");
    return x + 1;
}
int I_WRAP_SONAME_FNNAME_ZU(NONE, clobber)(int x) {
    int result;
    double a = half(x), b = half(x + 1), c = half(x + 2);
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_W(result, fn, x);
    return result + (int)(1000 * (a + b * c));
}
int main(void) {
    printf("%d\n", clobber(2));
    return 0;
}
