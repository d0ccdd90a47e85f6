/* No error: loops as compilers vectorise them for this CPU, each element of whose result is undefined if and only if
 * an operand of that element is, and sums over what a condition selects.
 * @build: -O3 -march=native -mprefer-vector-width=512 -ffast-math -fno-strict-aliasing */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

#define N 203 /* no multiple of a vector's elements */

static int wrong;
static unsigned char missing[N]; /* which elements are undefined */

static void expect(const char *name, const void *result, unsigned size) {
    unsigned char v[N * 8];
    VALGRIND_GET_VBITS(result, v, N * size);
    for (int i = 0; i < N; i++) {
        int any = 0;
        for (unsigned b = 0; b < size; b++)
            any |= v[i * size + b];
        if (!any != !missing[i]) {
            fprintf(stderr, "%s: element %d\n", name, i);
            wrong = 1;
            return;
        }
    }
}

#define LOOP(name, out, in, expression)                                                                                \
    __attribute__((noipa)) static void name(out *restrict r, const in *restrict a, const in *restrict b,               \
                                            const int *restrict k) {                                                   \
        for (int i = 0; i < N; i++)                                                                                    \
            r[i] = (expression);                                                                                       \
    }                                                                                                                  \
    static void run_##name(void) {                                                                                     \
        in *a = malloc(N * sizeof(in)), *b = malloc(N * sizeof(in));                                                   \
        int *k = malloc(N * sizeof *k);                                                                                \
        out *r = malloc(N * sizeof(out));                                                                              \
        for (int i = 0; i < N; i++) {                                                                                  \
            k[i] = (i * 7 + 3) % 5;                                                                                    \
            a[i] = (in)(i * 11 % 90 + 1), b[i] = (in)(i * 5 % 60 + 1);                                                 \
            missing[i] = i * 13 % 7 == 1;                                                                              \
        }                                                                                                              \
        for (int i = 0; i < N; i++)                                                                                    \
            if (missing[i])                                                                                            \
                VALGRIND_MAKE_MEM_UNDEFINED(a + i, sizeof *a);                                                         \
        name(r, a, b, k);                                                                                              \
        expect(#name, r, sizeof *r);                                                                                   \
        free(a), free(b), free(k), free(r);                                                                            \
    }

LOOP(added, float, float, a[i] + b[i] * 3)
LOOP(divided, double, double, b[i] / a[i])
LOOP(bytes, uint8_t, uint8_t, a[i] + b[i])
LOOP(averaged, uint8_t, uint8_t, (a[i] + b[i] + 1) >> 1)
LOOP(saturated, int16_t, int16_t, a[i] * 300 > 32767 ? 32767 : a[i] * 300 < -32768 ? -32768 : a[i] * 300)
LOOP(widened, int64_t, int16_t, a[i] - (int64_t)b[i])
LOOP(narrowed, uint8_t, uint32_t, a[i])
LOOP(shifted, uint32_t, uint32_t, a[i] << (k[i] & 3))
LOOP(multiplied, int64_t, int64_t, a[i] * b[i])
LOOP(absolute, int32_t, int32_t, abs(a[i]))
LOOP(least, int32_t, int32_t, a[i] < b[i] ? a[i] : b[i])
LOOP(from_float, int32_t, float, (int32_t)a[i])
LOOP(to_double, double, int32_t, a[i] * 0.5)
LOOP(to_float, float, double, a[i])
LOOP(inverted, uint64_t, uint64_t, ~a[i] ^ b[i])
LOOP(doubled, uint16_t, uint16_t, a[i] + a[i])
LOOP(squared, float, float, a[i] * a[i])
LOOP(rooted, float, float, __builtin_sqrtf(a[i]))
LOOP(floored, double, double, __builtin_floor(a[i]))
LOOP(negated, double, double, -a[i])
LOOP(counted, uint32_t, uint32_t, __builtin_popcount(a[i]))
LOOP(swapped, uint32_t, uint32_t, __builtin_bswap32(a[i]))
LOOP(rotated, uint32_t, uint32_t, a[i] << 7 | a[i] >> 25)
LOOP(compared, int32_t, int32_t, a[i] > b[i] ? 3 : 5)

/* Undefined only where it is not selected. */
#define CHOICE(name, type)                                                                                             \
    __attribute__((noipa)) static type sum_##name(const type *restrict a, const int *restrict k) {                     \
        type s = 0;                                                                                                    \
        for (int i = 0; i < N; i++)                                                                                    \
            if (k[i] > 1)                                                                                              \
                s += a[i];                                                                                             \
        return s;                                                                                                      \
    }                                                                                                                  \
    __attribute__((noipa)) static void pick_##name(type *restrict r, const type *restrict a, const int *restrict k) {  \
        for (int i = 0; i < N; i++)                                                                                    \
            if (k[i] > 1)                                                                                              \
                r[i] = a[i] + 1;                                                                                       \
    }                                                                                                                  \
    __attribute__((noipa)) static int find_##name(const type *a, type x) {                                             \
        for (int i = 0; i < N; i++)                                                                                    \
            if (a[i] == x)                                                                                             \
                return i;                                                                                              \
        return -1;                                                                                                     \
    }                                                                                                                  \
    static void choose_##name(void) {                                                                                  \
        type *a = malloc(N * sizeof *a), *r = malloc(N * sizeof *r);                                                   \
        int *k = malloc(N * sizeof *k);                                                                                \
        for (int i = 0; i < N; i++) {                                                                                  \
            k[i] = (i * 7 + 3) % 5;                                                                                    \
            missing[i] = k[i] <= 1;                                                                                    \
            if (!missing[i])                                                                                           \
                a[i] = (type)(i % 3 + 1);                                                                              \
        }                                                                                                              \
        if (sum_##name(a, k) == 0)                                                                                     \
            wrong = 1;                                                                                                 \
        pick_##name(r, a, k);                                                                                          \
        expect("pick_" #name, r, sizeof *r);                                                                           \
        for (int i = 0; i < 40; i++)                                                                                   \
            a[i] = (type)(i + 1); /* what is behind was not set */                                                     \
        if (find_##name(a, 40) != 39)                                                                                  \
            wrong = 1;                                                                                                 \
        free(a), free(r), free(k);                                                                                     \
    }

CHOICE(float, float)
CHOICE(double, double)
CHOICE(byte, uint8_t)
CHOICE(word, int16_t)
CHOICE(int, int32_t)
CHOICE(long, int64_t)

struct pixel {
    uint8_t r, g, b, a;
};

/* Interleaved: only the alpha channel is undefined. */
__attribute__((noipa)) static void grey(uint8_t *restrict to, const struct pixel *restrict p) {
    for (int i = 0; i < N; i++)
        to[i] = (uint8_t)((77 * p[i].r + 150 * p[i].g + 29 * p[i].b) >> 8);
}

__attribute__((noipa)) static int differ(const uint8_t *restrict a, const uint8_t *restrict b) {
    int s = 0;
    for (int i = 0; i < N; i++)
        s += abs(a[i] - b[i]);
    return s;
}

static void pixels(void) {
    struct pixel *p = malloc(N * sizeof *p);
    uint8_t *to = malloc(N);
    for (int i = 0; i < N; i++) {
        p[i].r = i, p[i].g = 2 * i, p[i].b = 3 * i;
        missing[i] = 0;
    }
    grey(to, p);
    expect("grey", to, 1);
    if (differ(to, to + 1 - 1) != 0)
        wrong = 1;
    free(p), free(to);
}

int main(void) {
    run_added(), run_divided(), run_bytes(), run_averaged(), run_saturated(), run_widened(), run_narrowed();
    run_shifted(), run_multiplied(), run_absolute(), run_least(), run_from_float(), run_to_double(), run_to_float();
    run_inverted(), run_doubled(), run_squared(), run_rooted(), run_floored(), run_negated(), run_counted();
    run_swapped(), run_rotated(), run_compared();
    choose_float(), choose_double(), choose_byte(), choose_word(), choose_int(), choose_long();
    pixels();
    return wrong;
}
