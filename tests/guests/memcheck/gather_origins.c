/* What a gather takes from memory has its origin there, not where the register's last undefined value came from.
 * @build: -mavx2
 * @options: -q */
#include <immintrin.h>
#include <stdlib.h>

static volatile int set;

__attribute__((noinline)) static void look(__m256i v, int i) {
    int elements[8];
    _mm256_storeu_si256((__m256i *)elements, v);
    if (elements[i] == 77) /* error */
        set++;
}

int main(void) {
    int *first = malloc(32);
    for (int i = 0; i < 8; i += 2) first[i] = i;
    __m256i indices = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0), v, all = _mm256_set1_epi32(-1);
    int *second = malloc(32);
    for (int i = 1; i < 8; i += 2) second[i] = i;
    __asm__ volatile("vmovdqu %1, %%ymm1; vpaddd %%ymm1, %%ymm1, %%ymm1" : : "m"(*first), "m"(*(char(*)[32])second) : "xmm1");
    __asm__ volatile("vpxor %%xmm1, %%xmm1, %%xmm1; vmovdqa %2, %%ymm2; vpgatherdd %%ymm2, (%1,%3,4), %%ymm1; vmovdqa %%ymm1, %0"
                     : "=x"(v) : "r"(first), "x"(all), "x"(indices) : "xmm1", "xmm2", "memory");
    look(v, 0);
    __asm__ volatile("vmovdqa %2, %%ymm2; vpxor %%xmm1, %%xmm1, %%xmm1; vpgatherdd %%ymm2, (%1,%3,4), %%ymm1; vmovdqa %%ymm1, %0"
                     : "=x"(v) : "r"(second), "x"(all), "x"(indices) : "xmm1", "xmm2", "memory");
    look(v, 1);
    free(first);
    free(second);
    return 0;
}
