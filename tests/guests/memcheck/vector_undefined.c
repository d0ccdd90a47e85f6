/* An undefined lane survives vector arithmetic; the others do not matter.
 * @build: -O2 -mavx2 */
#include <immintrin.h>
#include <stdlib.h>

int main(void) {
    int *p = malloc(32);
    for (int i = 0; i < 7; i++)
        p[i] = i;
    __m256i v = _mm256_loadu_si256((const __m256i *)p);
    v = _mm256_add_epi32(v, _mm256_set1_epi32(5));
    int out[8];
    _mm256_storeu_si256((__m256i *)out, v);
    volatile int *o = out;
    int n = 0;
    if (o[6] == 11)
        n++;
    if (o[7] == 11)
        n += 0;
    free(p);
    return n - 1;
}
