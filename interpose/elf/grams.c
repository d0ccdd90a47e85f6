/* Short sequences of bytes that a file's string tables hold (grams.h). */
#include "elf/grams.h"

#include <string.h>

_Static_assert(IP_GRAM < sizeof(uint64_t), "a sequence is part of a word");

static uint32_t bit_of(uint64_t word) {
    uint64_t gram = word & ((1ull << 8 * IP_GRAM) - 1);
    return (uint32_t)(gram * 0x9e3779b97f4a7c15ull >> 32) % (IP_GRAM_WORDS * 64u);
}

/* The bytes at a place of which size are left, with zeroes behind them. */
static uint64_t word_at(const uint8_t *from, uint64_t size) {
    uint64_t word = 0;
    if (size >= sizeof word)
        memcpy(&word, from, sizeof word);
    else
        memcpy(&word, from, size);
    return word;
}

void ip_note_grams(const uint8_t *table, uint64_t size, uint64_t *words) {
    for (uint64_t at = 0; at + IP_GRAM <= size; at++) {
        uint32_t bit = bit_of(word_at(table + at, size - at));
        words[bit / 64] |= 1ull << bit % 64;
    }
}

int ip_has_grams(const uint64_t *words, const uint8_t *part, uint64_t size) {
    for (uint64_t at = 0; at + IP_GRAM <= size; at++) {
        uint32_t bit = bit_of(word_at(part + at, size - at));
        if (!(words[bit / 64] >> bit % 64 & 1)) return 0;
    }
    return 1;
}
