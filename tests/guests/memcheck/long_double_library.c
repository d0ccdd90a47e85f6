/* Undefined long doubles in the C library's functions: where those decide by them.
 * @build: -O1 -lm */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

volatile int reached;
volatile long double kept;

__attribute__((noipa)) static int order(const void *a, const void *b) {
    long double x = *(const long double *)a, y = *(const long double *)b;
    return x < y ? -1 : x > y;
}

__attribute__((noipa)) static void sorted(long double *p) { qsort(p, 4, sizeof *p, order); }

__attribute__((noipa)) static void rounded(const long double *p) {
    kept = floorl(*p);
    if (lrintl(*p) == 4)
        reached++;
}

__attribute__((noipa)) static void functions(const long double *p) {
    kept = sqrtl(*p);
    kept = sinl(*p);
    kept = expl(*p);
    kept = fmodl(*p, 3);
}

__attribute__((noipa)) static void classes(const long double *p) {
    if (isnan(*p))
        reached++;
    if (signbit(*p))
        reached++;
}

__attribute__((noipa)) static void greater(const long double *p, const long double *q) {
    long double m = *p > *q ? *p : *q;
    if (m > 1)
        reached++;
}

__attribute__((noipa)) static void product(long double complex *z) {
    *z = *z * 2;
    if (cimagl(*z) > 1)
        reached++;
}

__attribute__((noipa)) static void natural(const long double *p) {
    unsigned long n = (unsigned long)*p;
    if (n == 7)
        reached++;
}

int main(void) {
    long double *p = malloc(4 * sizeof *p);
    long double complex *z = malloc(sizeof *z);
    for (int i = 0; i < 4; i++)
        if (i != 2)
            p[i] = i;
    functions(p + 2);
    rounded(p + 2);
    classes(p + 2);
    greater(p + 2, p);
    natural(p + 2);
    product(z);
    sorted(p);
    free(p), free(z);
    return 0;
}
