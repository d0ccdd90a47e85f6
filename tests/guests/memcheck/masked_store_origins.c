/* A masked store's elements come from what was stored, those that it leaves alone from where they came before.
 * @build: -mavx2
 * @options: -q */
#include <immintrin.h>
#include <stdlib.h>

static volatile int set;

static void look(const int *p) {
    if (p[1] == 77) /* error: of what was stored */
        set++;
    if (p[6] == 77) /* error: of the block */
        set++;
}

int main(void) {
    __m256i half = _mm256_setr_epi32(-1, -1, -1, -1, 0, 0, 0, 0);
    int *older = malloc(32);
    int *newer = malloc(32);
    _mm256_maskstore_epi32(newer, half, _mm256_loadu_si256((__m256i *)older));
    look(newer);
    int *newest = malloc(32);
    _mm256_maskstore_epi32(older, half, _mm256_loadu_si256((__m256i *)newest));
    look(older);
    free(older);
    free(newer);
    free(newest);
    return 0;
}
