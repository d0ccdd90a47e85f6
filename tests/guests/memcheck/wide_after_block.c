/* Invalid reads and writes of 16 and 32 bytes; the intrinsics show as inlined frames.
 * @build: -mavx2 */
#include <immintrin.h>
#include <stdlib.h>

int main(void) {
    char *p = calloc(1, 64);
    __m128i a = _mm_loadu_si128((const __m128i *)(p + 64));
    _mm_storeu_si128((__m128i *)(p + 65), a);
    __m256i b = _mm256_loadu_si256((const __m256i *)(p + 66));
    _mm256_storeu_si256((__m256i *)(p + 67), b);
    free(p);
    return 0;
}
