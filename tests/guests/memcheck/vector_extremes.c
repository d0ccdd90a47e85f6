/* Minima and maxima of vectors are defined where the defined bits decide which element is chosen.
 * @build: -O1 -msse4.1
 * @options: -q */
#include <immintrin.h>
#include <stdio.h>

#include "valgrind/memcheck.h"

#define SHOW(name, value)                                                                                 \
    do {                                                                                                  \
        unsigned char bytes[16], bits[16];                                                                \
        _mm_storeu_si128((__m128i *)bytes, value);                                                        \
        VALGRIND_GET_VBITS(bytes, bits, 16);                                                              \
        printf("%s", name);                                                                               \
        for (int i = 0; i < 16; i++) printf(" %02x", bits[i]);                                            \
        printf("\n");                                                                                     \
    } while (0)

int main(void) {
    /* bytes: decided for the first, for the second, open, open with equal bits; as words and so on, too */
    unsigned char a[16] = {0x40, 0x10, 0x20, 0x7f, 0x80, 0xff, 0x00, 0x81, 1, 2, 3, 4, 0xf0, 0x0f, 0x70, 0x90};
    unsigned char b[16] = {0x10, 0x40, 0x24, 0x7b, 0x7f, 0x01, 0xff, 0x85, 4, 3, 2, 1, 0x0f, 0xf0, 0x90, 0x70};
    unsigned char of_a[16] = {0x0f, 0x0f, 0x07, 0x04, 0x01, 0x01, 0x80, 0x80, 0, 0, 0, 0, 1, 0x80, 0xff, 0};
    unsigned char of_b[16] = {0, 0, 0, 0, 0, 0x80, 0, 0x04, 1, 0, 0xff, 0, 0, 0, 0, 0xff};
    VALGRIND_SET_VBITS(a, of_a, 16);
    VALGRIND_SET_VBITS(b, of_b, 16);
    __m128i x = _mm_loadu_si128((__m128i *)a), y = _mm_loadu_si128((__m128i *)b);
    SHOW("minub", _mm_min_epu8(x, y));
    SHOW("maxub", _mm_max_epu8(x, y));
    SHOW("minsb", _mm_min_epi8(x, y));
    SHOW("maxsb", _mm_max_epi8(x, y));
    SHOW("minuw", _mm_min_epu16(x, y));
    SHOW("maxuw", _mm_max_epu16(x, y));
    SHOW("minsw", _mm_min_epi16(x, y));
    SHOW("maxsw", _mm_max_epi16(x, y));
    SHOW("minud", _mm_min_epu32(x, y));
    SHOW("maxud", _mm_max_epu32(x, y));
    SHOW("minsd", _mm_min_epi32(x, y));
    SHOW("maxsd", _mm_max_epi32(x, y));
    SHOW("same", _mm_max_epi32(x, x));
    return 0;
}
