/* Words for registers and for their V bits, the same after the same seed.  The includer has u64. */
#ifndef RANDOM_WORDS_H
#define RANDOM_WORDS_H

static u64 seed;
static u64 rnd(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Values and masks with structure: random words alone miss the corner cases. */
static u64 word(void) {
    switch (rnd() % 8) {
    case 0: return 0;
    case 1: return ~0ull;
    case 2: return rnd() % 70;
    case 3: return 1ull << rnd() % 64;
    case 4: return -(rnd() % 70);
    case 5: return rnd() & rnd() & rnd();
    default: return rnd();
    }
}
static u64 mask_word(void) {
    switch (rnd() % 9) {
    case 0: return 1ull << rnd() % 64;
    case 1: return 1ull << rnd() % 16;
    case 2: return 0xffull << 8 * (rnd() % 8);
    case 3: return rnd() & rnd() & rnd();
    case 4: return ~0ull;
    case 5: return 0xffffffffull;
    default: return 0;
    }
}

#endif
