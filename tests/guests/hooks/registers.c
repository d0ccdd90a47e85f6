/* Arguments and results that no annotation names: on the x87 stack, in pairs of registers, in whole vectors. */
#include <complex.h>
#include <immintrin.h>
#include <stdio.h>

#define F __attribute__((noipa, used))

F long double extended(long double a, int b) { return a * b; }
F double complex twice(double complex a) { return a * 2; }
F __int128 wide(__int128 a) { return a * 3; }
struct mixed {
    double x;
    long y;
};
F struct mixed both(struct mixed a) { return (struct mixed){a.x + 1, a.y + 2}; }
F __m128 four(__m128 a, __m128 b) { return _mm_add_ps(a, b); }
F __attribute__((target("avx"))) __m256d eight(__m256d a) { return _mm256_add_pd(a, a); }

static __attribute__((target("avx"))) void avx(void) {
    double out[4];
    _mm256_storeu_pd(out, eight(_mm256_set_pd(1, 2, 3, 4)));
    printf("%.0f %.0f %.0f %.0f\n", out[0], out[1], out[2], out[3]);
}

int main(void) {
    printf("%.3Lf\n", extended(1.5L, 3));
    double complex c = twice(1 + 2 * I);
    printf("%.1f %.1f\n", creal(c), cimag(c));
    __int128 w = wide(((__int128)7 << 64) + 5);
    printf("%ld %ld\n", (long)(w >> 64), (long)w);
    struct mixed m = both((struct mixed){1, 2});
    printf("%.1f %ld\n", m.x, m.y);
    float out[4];
    _mm_storeu_ps(out, four(_mm_set_ps(1, 2, 3, 4), _mm_set_ps(10, 20, 30, 40)));
    printf("%.0f %.0f %.0f %.0f\n", out[0], out[1], out[2], out[3]);
    if (__builtin_cpu_supports("avx")) avx();
    return 0;
}
