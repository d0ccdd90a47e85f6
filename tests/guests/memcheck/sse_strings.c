/* pcmpistri and pcmpestri, palignr, pshufb, pmovmskb over bytes of which some are undefined.  @build: -O1 -msse4.2 */
#include <nmmintrin.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *p = malloc(32);
    volatile int sum = 0;
    memcpy(p, "abc", 4); /* the rest is undefined */
    __m128i v = _mm_loadu_si128((__m128i *)p), w = _mm_set1_epi8('b');
    int index = _mm_cmpistri(w, v, _SIDD_CMP_EQUAL_ANY);
    if (index == 1)
        sum++;
    if (_mm_cmpestri(w, 1, v, 4, _SIDD_CMP_EQUAL_EACH) == 1)
        sum++;
    if (_mm_movemask_epi8(v) & 7)
        sum++;
    if (_mm_movemask_epi8(v) & 0x100) /* undefined */
        sum++;
    __m128i picked = _mm_shuffle_epi8(v, _mm_set1_epi8(2));
    if (_mm_cvtsi128_si32(picked) == 0x63636363)
        sum++;
    picked = _mm_shuffle_epi8(v, _mm_set1_epi8(9));
    if (_mm_cvtsi128_si32(picked) == 1) /* undefined */
        sum++;
    __m128i moved = _mm_alignr_epi8(v, w, 12);
    if (_mm_cvtsi128_si32(moved) == 0x62626262)
        sum++;
    if (_mm_extract_epi32(moved, 1) == 0x636261)
        sum++;
    if (_mm_extract_epi32(moved, 2)) /* undefined */
        sum++;
    free(p);
    return 0;
}
