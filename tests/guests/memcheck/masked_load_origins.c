/* A masked load's origin is that of an element which the mask takes, not of one beside it.
 * @build: -mavx2
 * @options: -q */
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

static volatile int set;

static void look(const int *low, const int *high) {
    const __m256i upper = _mm256_setr_epi32(0, 0, 0, 0, -1, -1, -1, -1);
    int both[8], taken[8];
    memcpy(both, low, 16);
    memcpy(both + 4, high, 16);
    _mm256_storeu_si256((__m256i *)taken, _mm256_maskload_epi32(both, upper));
    if (taken[6] == 77) /* error: of high */
        set++;
}

int main(void) {
    int *older = malloc(32);
    int *newer = malloc(32);
    look(newer, older);
    look(older, newer);
    free(older);
    free(newer);
    return 0;
}
