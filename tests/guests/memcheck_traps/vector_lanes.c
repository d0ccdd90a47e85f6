/* One undefined element of a vector leaves the others' results defined, in instructions that compare pairs of
 * elements, work on lanes of 16 bytes, or go between vectors and mask registers. */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>

static int bits;
#define LOOK(n, condition) (bits = bits << 1 | ((condition) ? 1 : 0))

__attribute__((target("avx"))) static void with_avx(const double *one_defined) {
    __m128d a = _mm_loadu_pd(one_defined), b = _mm_set1_pd(3), c;
    __asm__("vcmpltsd %2, %1, %0" : "=x"(c) : "x"(a), "x"(b));
    LOOK(1, _mm_cvtsd_f64(_mm_and_pd(c, b)) > 1);
    __m128 f, g = _mm_set1_ps(2);
    __asm__("vcmpltss %2, %1, %0" : "=x"(f) : "x"(_mm_castpd_ps(a)), "x"(g));
    LOOK(2, _mm_cvtss_f32(_mm_and_ps(f, g)) > 1);
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512cd,avx512dq"))) static void with_avx512(const int *some) {
    __m512i v = _mm512_loadu_si512(some), c; /* the last element is undefined */
    __asm__("vpconflictd %1, %0" : "=v"(c) : "v"(v));
    LOOK(3, _mm512_reduce_or_epi32(_mm512_maskz_mov_epi32(0x7fff, c)) & 8);
    __mmask16 k = _mm512_cmpgt_epi32_mask(v, _mm512_set1_epi32(4)); /* its last bit is */
    __m512i e;
    __asm__("vpmovm2d %1, %0" : "=v"(e) : "Yk"(k));
    LOOK(4, _mm512_reduce_add_epi32(_mm512_maskz_mov_epi32(0x7fff, e)) < -5);
    __asm__("vpbroadcastmb2q %1, %0" : "=v"(e) : "Yk"(k));
    LOOK(5, _mm512_reduce_add_epi64(e) > 100);
    __asm__("vfpclassps $0x10, %1, %0" : "=Yk"(k) : "v"(v));
    LOOK(6, k & 0x7fff);
}

__attribute__((target("avx512f,vaes,vpclmulqdq,avx512vbmi2,gfni,avx512bw"))) static void with_more(const int *some) {
    __m512i v = _mm512_loadu_si512(some), one = _mm512_set1_epi32(1), r;
    __asm__("vaesenc %2, %1, %0" : "=v"(r) : "v"(v), "v"(one));
    LOOK(7, _mm512_cvtsi512_si32(r) > 0);
    __asm__("vpclmulqdq $0, %2, %1, %0" : "=v"(r) : "v"(v), "v"(one)); /* low halves only */
    LOOK(8, _mm512_reduce_add_epi64(r) > 10);
    __asm__("vpshldd $3, %2, %1, %0" : "=v"(r) : "v"(v), "v"(one));
    LOOK(9, _mm512_reduce_or_epi32(_mm512_maskz_mov_epi32(0x7fff, r)) > 4);
    __asm__("vgf2p8affineqb $1, %2, %1, %0" : "=v"(r) : "v"(v), "v"(one));
    LOOK(10, _mm512_reduce_or_epi32(_mm512_maskz_mov_epi32(0x7fff, r)) > 4);
}

int main(void) {
    double *d = malloc(2 * sizeof *d);
    int *some = malloc(16 * sizeof *some);
    d[0] = 1.5;
    for (int i = 0; i < 15; i++)
        some[i] = i / 2;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx")) with_avx(d);
    if (__builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        with_avx512(some);
    if (__builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("gfni") && __builtin_cpu_supports("vaes"))
        with_more(some);
    printf("%x\n", bits);
    free(d);
    free(some);
    return 0;
}
