/* No error: bytes of numbers of which other bytes were never written.  Where there is no truncation of vectors, compilers
 * mask and pack with saturation, which then changes nothing.
 * @build: -O3 -msse4.1 */
#include <stdint.h>
#include <stdlib.h>

static void __attribute__((noinline)) second_bytes(uint8_t *out, const uint32_t *from, int n) {
    for (int i = 0; i < n; i++) out[i] = (from[i] >> 8 & 0xff) > 9 ? from[i] >> 8 & 0xff : 0;
}
static void __attribute__((noinline)) middles(uint8_t *out, const uint16_t *from, int n) {
    for (int i = 0; i < n; i++) out[i] = from[i] >> 4 & 0xff;
}
static void __attribute__((noinline)) low_halves(uint16_t *out, const uint32_t *from, int n) {
    for (int i = 0; i < n; i++) out[i] = from[i] + 1;
}

int main(void) {
    int n = 403, sum = 0;
    uint8_t *words = malloc(4 * n), *bytes = malloc(n);
    uint16_t *shorts = malloc(2 * n), *halves = malloc(2 * n);
    for (int i = 0; i < n; i++) {
        words[4 * i + 1] = i;
        words[4 * i] = 3;
    }
    second_bytes(bytes, (uint32_t *)words, n);
    for (int i = 0; i < n; i++) sum += bytes[i];
    for (int i = 0; i < n; i++) ((uint8_t *)shorts)[2 * i + 1] = i;
    middles(bytes, shorts, n);
    for (int i = 0; i < n; i++) sum += bytes[i] >> 4;
    low_halves(halves, (uint32_t *)words, n);
    for (int i = 0; i < n; i++) sum += halves[i];
    free(words);
    free(bytes);
    free(shorts);
    free(halves);
    return sum != 11150872;
}
