/* No error: a field of an undefined word is overwritten, and a defined one taken (SSE4a, which compilers use for
 * shuffles of words on AMD's CPUs).
 * @options: -q --leak-check=no */
#include <ammintrin.h>
#include <stdlib.h>

__attribute__((target("sse4a"))) static int fields(const short *words) {
    __m128i all = _mm_loadu_si128((const __m128i *)words); /* words 1, 3 and 4 to 7 are undefined */
    __m128i filled = _mm_inserti_si64(all, _mm_cvtsi32_si128(20), 16, 16);
    filled = _mm_inserti_si64(filled, _mm_cvtsi32_si128(40), 16, 48);
    if (_mm_cvtsi128_si64(filled) != 0x0028000300140001) return 1;
    if (_mm_cvtsi128_si64(_mm_extracti_si64(all, 16, 32)) != 3) return 2;
    if (_mm_cvtsi128_si64(_mm_extract_si64(all, _mm_cvtsi32_si128(32 << 8 | 16))) != 3) return 3;
    __m128i where = _mm_set_epi64x(16 << 8 | 16, 50);
    filled = _mm_inserti_si64(_mm_insert_si64(all, where), _mm_cvtsi32_si128(60), 16, 48);
    return _mm_cvtsi128_si64(filled) != 0x003c000300320001;
}

int main(void) {
    if (!__builtin_cpu_supports("sse4a")) return 0;
    short *words = malloc(16);
    words[0] = 1;
    words[2] = 3;
    int wrong = fields(words);
    free(words);
    return wrong;
}
