/* No error: vectorised loops over defined data with a tail.
 * @build: -O3 -mavx2 -ffast-math */
#include <stdlib.h>

static int __attribute__((noinline)) sum(const int *v, int n) {
    int s = 0;
    for (int i = 0; i < n; i++)
        s += v[i] > 3 ? v[i] : 1;
    return s;
}
static float __attribute__((noinline)) dot(const float *a, const float *b, int n) {
    float s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}
static int __attribute__((noinline)) find(const unsigned char *p, int n, int c) {
    int k = 0;
    for (int i = 0; i < n; i++)
        k += p[i] == c;
    return k;
}

int main(void) {
    int n = 1003, *v = malloc(n * sizeof *v);
    float *a = malloc(n * sizeof *a);
    unsigned char *p = malloc(n);
    for (int i = 0; i < n; i++) {
        v[i] = i % 7;
        a[i] = i & 3;
        p[i] = i & 15;
    }
    int ok = sum(v, n) > 0 && dot(a, a, n) > 10 && find(p, n, 5) == 63;
    free(v);
    free(a);
    free(p);
    return !ok;
}
