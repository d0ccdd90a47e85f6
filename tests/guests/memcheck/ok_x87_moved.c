/* No error: undefined values that the x87 unit only moves, and such that it drops. */
#include <stdlib.h>
#include <string.h>

struct holds {
    int before;
    long double value;
    double half;
    float quarter;
};

__attribute__((noinline)) static long double given(long double a) { return a; }

__attribute__((noinline)) static void exchanged(long double *a, long double *b) {
    long double t = *a;
    *a = *b;
    *b = t;
}

int main(void) {
    struct holds *from = malloc(sizeof *from), *to = malloc(sizeof *to), local;
    long double two = 2, other = 3;
    double d;
    float f;
    to->value = given(from->value);
    local = *from;
    *to = local;
    exchanged(&from->value, &two);
    if (from->value != 2)
        return 1;
    __asm__ volatile("fldl %1; fstpl %0; flds %3; fstps %2" : "=m"(to->half), "=m"(from->half), "=m"(to->quarter), "=m"(from->quarter));
    /* A partly undefined double keeps its defined bytes. */
    memset(&from->half, 0x11, 4);
    __asm__ volatile("fldl %1; fstpl %0" : "=m"(d) : "m"(from->half));
    if (*(int *)&d != 0x11111111)
        return 2;
    /* Dropped, and its register loaded again. */
    __asm__ volatile("fldt %0; fstp %%st(0); fld1; fstps %1" : : "m"(to->value), "m"(f));
    if (f != 1)
        return 3;
    __asm__ volatile("fldt %1; fldt %2; fxch; fstp %%st(0); fstpt %0" : "=m"(two) : "m"(to->value), "m"(other));
    if (two != 3)
        return 4;
    free(from);
    free(to);
    return 0;
}
