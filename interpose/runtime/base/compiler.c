/* What the compiler calls, whether or not the code does, in all that has no C library beneath it: the runtimes, the
 * native engine's library.  Which copy of a structure becomes a call differs between compilers.
 */
#include <stddef.h>
#include <stdint.h>

#define COMPILER_USES __attribute__((visibility("hidden"), used))
COMPILER_USES void *memcpy(void *d, const void *s, size_t n);
COMPILER_USES void *memset(void *d, int c, size_t n);
COMPILER_USES void *memmove(void *d, const void *s, size_t n);
COMPILER_USES int memcmp(const void *a, const void *b, size_t n);

#define SHORT 128 /* up to here a repeated instruction takes longer to begin than words one by one */

static inline uint64_t word_of(const void *at) {
    uint64_t word;
    __builtin_memcpy(&word, at, sizeof word);
    return word;
}

static inline void set_word(void *at, uint64_t word) { __builtin_memcpy(at, &word, sizeof word); }

/* Upwards, as memmove relies on: the last word is read before anything is written. */
static void *copy_words(void *d, const void *s, size_t n) {
    uint64_t last = word_of((const uint8_t *)s + n - 8);
    for (size_t i = 0; i + 8 < n; i += 8) {
        set_word((uint8_t *)d + i, word_of((const uint8_t *)s + i));
        __asm__ volatile("" : : : "memory"); /* keep it a loop, not a memcpy call */
    }
    set_word((uint8_t *)d + n - 8, last);
    return d;
}

static void *copy_bytes(void *d, const void *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        ((uint8_t *)d)[i] = ((const uint8_t *)s)[i];
        __asm__ volatile("" : : : "memory");
    }
    return d;
}

void *memcpy(void *d, const void *s, size_t n) {
    void *ret = d;
    if (n <= SHORT) return n >= 8 ? copy_words(d, s, n) : copy_bytes(d, s, n);
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
    return ret;
}

void *memset(void *d, int c, size_t n) {
    void *ret = d;
    if (n >= 8 && n <= SHORT) {
        uint64_t word = (uint8_t)c * 0x0101010101010101ull;
        for (size_t i = 0; i + 8 < n; i += 8) {
            set_word((uint8_t *)d + i, word);
            __asm__ volatile("" : : : "memory");
        }
        set_word((uint8_t *)d + n - 8, word);
        return d;
    }
    __asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
    return ret;
}

void *memmove(void *d, const void *s, size_t n) {
    if ((uint64_t)d - (uint64_t)s >= n) return memcpy(d, s, n);
    /* Overlapping upwards.  Words from the top: the distance is often a whole
     * table entry, and a backward rep movsb runs one byte a cycle at best. */
    uint8_t *dp = (uint8_t *)d + n;
    const uint8_t *sp = (const uint8_t *)s + n;
    while (n >= 8) {
        uint64_t word;
        dp -= 8, sp -= 8, n -= 8;
        __builtin_memcpy(&word, sp, 8);
        __builtin_memcpy(dp, &word, 8);
    }
    while (n-- > 0) {
        *--dp = *--sp;
        __asm__ volatile("" : : : "memory"); /* keep it a loop, not a memmove call */
    }
    return d;
}

int memcmp(const void *a, const void *b, size_t n) {
    const uint8_t *x = a, *y = b;
    size_t i = 0;
    while (i + 8 <= n && word_of(x + i) == word_of(y + i)) i += 8;
    for (; i < n; i++)
        if (x[i] != y[i]) return (int)x[i] - (int)y[i];
    return 0;
}
