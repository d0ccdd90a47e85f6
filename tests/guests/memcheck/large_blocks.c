/* V bits of blocks of all sizes, among them those with spans of their own, in a heap of 100 MB: defined, undefined again,
 * resized and freed at random, they are what was done to them last. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

enum { BLOCKS = 220, TURNS = 6000, PIECE = 64 };

static struct block {
    unsigned char *at;
    size_t size;
    bool *defined; /* by pieces */
} blocks[BLOCKS];
static int wrong;

static uint64_t drawn(uint64_t below) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static size_t any_size(void) {
    switch (drawn(6)) {
    case 0: return 1 + drawn(3000);
    case 1: return 30000 + drawn(10000);
    case 2: return 40000;
    case 3: return 60000 + drawn(200000);
    case 4: return 1000000 + drawn(3500000);
    default: return 131072;
    }
}

static size_t pieces(size_t size) { return (size + PIECE - 1) / PIECE; }

static size_t length(const struct block *b, size_t piece) {
    return b->size - piece * PIECE < PIECE ? b->size - piece * PIECE : PIECE;
}

static void mark(struct block *b, size_t from, size_t to, bool defined) {
    for (size_t i = from; i < to; i++) {
        if (defined)
            memset(b->at + i * PIECE, (int)i, length(b, i));
        else
            VALGRIND_MAKE_MEM_UNDEFINED(b->at + i * PIECE, length(b, i));
        b->defined[i] = defined;
    }
}

static bool is_closed(const unsigned char *at) {
    VALGRIND_DISABLE_ERROR_REPORTING;
    bool closed = VALGRIND_CHECK_MEM_IS_ADDRESSABLE(at, 1) != 0;
    VALGRIND_ENABLE_ERROR_REPORTING;
    return closed;
}

static void check(const struct block *b) {
    size_t n = pieces(b->size);
    for (int k = 0; k < 40; k++) {
        size_t i = k == 0 ? 0 : k == 1 ? n - 1 : drawn(n);
        unsigned char bits[PIECE] = {0}, expected[PIECE];
        memset(expected, b->defined[i] ? 0 : 0xff, sizeof expected);
        int answer = VALGRIND_GET_VBITS(b->at + i * PIECE, bits, length(b, i));
        wrong += answer != 1 || memcmp(bits, expected, length(b, i)) != 0;
    }
    wrong += !is_closed(b->at - 1) || !is_closed(b->at + b->size);
}

static void make(struct block *b) {
    bool zeroed = drawn(4) == 0;
    b->size = any_size();
    b->at = zeroed ? calloc(1, b->size) : malloc(b->size);
    b->defined = calloc(1, pieces(b->size));
    memset(b->defined, zeroed, pieces(b->size));
    if (drawn(3)) mark(b, 0, pieces(b->size), true);
}

static void resize(struct block *b) {
    size_t old = b->size, size = any_size(), kept = pieces(old < size ? old : size);
    b->at = realloc(b->at, size);
    b->size = size;
    b->defined = realloc(b->defined, pieces(size));
    if (pieces(size) > kept) memset(b->defined + kept, false, pieces(size) - kept);
    if (size > old && old % PIECE) mark(b, old / PIECE, old / PIECE + 1, true);
}

static void release(struct block *b) {
    uintptr_t was = (uintptr_t)b->at;
    free(b->at);
    for (int k = 0; k < 6; k++) wrong += !is_closed((unsigned char *)(was + drawn(b->size)));
    free(b->defined);
    *b = (struct block){0};
}

static void alter(struct block *b) {
    size_t n = pieces(b->size), from = drawn(n), to = from + drawn(n - from) + 1;
    mark(b, from, to - from > 3000 ? from + 3000 : to, drawn(3) != 0);
}

int main(void) {
    unsigned char bits;
    if (VALGRIND_GET_VBITS(&wrong, &bits, 1) != 1) return 0; /* no memcheck */
    for (int turn = 0; turn < TURNS; turn++) {
        struct block *b = &blocks[drawn(BLOCKS)];
        if (!b->at) {
            make(b);
            continue;
        }
        switch (drawn(6)) {
        case 0: release(b); break;
        case 1: resize(b); break;
        case 2:
        case 3: alter(b); break;
        default: check(b);
        }
    }
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].at) {
            check(&blocks[i]);
            release(&blocks[i]);
        }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
