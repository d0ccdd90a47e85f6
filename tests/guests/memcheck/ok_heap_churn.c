/* Blocks of all sizes come and go in a quarantine that is too small for them: each has its bytes, its bounds and its
 * contents. @options: --track-origins=yes --freelist-vol=30000 --freelist-big-blocks=9000 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

#define BLOCKS 64
#define MOST   20000

static struct block {
    unsigned char *at;
    size_t size;
    unsigned char fill;
} blocks[BLOCKS];
static unsigned long seed = 88172645463325252ul, wrong;

static unsigned long any(unsigned long below) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

/* Mostly small ones, and some next to where they are treated in another way. */
static size_t any_size(void) {
    static const size_t edges[] = {16, 64, 128, 256, 512, 992, 1024, 2048, 4096, 16384};
    switch (any(8)) {
    case 0: return any(MOST);
    case 1:
    case 2: return edges[any(10)] + any(5) - 2;
    case 3: return any(1500);
    default: return any(120);
    }
}

static void check(int holds, const char *what, size_t size) {
    if (!holds && wrong++ < 10) printf("%s: %zu bytes\n", what, size);
}

static unsigned char vbits[MOST + 4096];

/* What a new block of size bytes is like, of which the first defined ones are. */
static void look_at(const unsigned char *p, size_t size, size_t defined) {
    check(((unsigned long)p & 15) == 0, "alignment", size);
    VALGRIND_DISABLE_ERROR_REPORTING;
    if (size) check(VALGRIND_CHECK_MEM_IS_ADDRESSABLE(p, size) == 0, "not addressable", size);
    for (int i = 1; i <= 16; i++) {
        check(VALGRIND_CHECK_MEM_IS_ADDRESSABLE(p - i, 1) != 0, "addressable before it", size);
        check(VALGRIND_CHECK_MEM_IS_ADDRESSABLE(p + size + i - 1, 1) != 0, "addressable behind it", size);
    }
    VALGRIND_ENABLE_ERROR_REPORTING;
    if (!size || VALGRIND_GET_VBITS(p, vbits, size) != 1) return;
    for (size_t i = 0; i < size; i++)
        if (vbits[i] != (i < defined ? 0 : 0xff)) {
            check(0, "V bits", size);
            break;
        }
}

static void look_at_freed(const unsigned char *p, size_t size) {
    VALGRIND_DISABLE_ERROR_REPORTING;
    for (size_t i = 0; i < size; i += i < 40 ? 1 : 37)
        check(VALGRIND_CHECK_MEM_IS_ADDRESSABLE(p + i, 1) != 0, "addressable when freed", size);
    VALGRIND_ENABLE_ERROR_REPORTING;
}

static void has(const struct block *b, size_t size, unsigned char fill, const char *what) {
    for (size_t i = 0; i < size; i++)
        if (b->at[i] != fill) {
            check(0, what, size);
            break;
        }
}

int main(void) {
    for (int round = 0; round < 6000; round++) {
        struct block *b = &blocks[any(BLOCKS)];
        size_t size = any_size(), old = b->size;
        unsigned char *was = b->at;
        if (!was) {
            int zero = any(3) == 0;
            b->at = zero ? calloc(1, size) : malloc(size);
            b->size = size;
            look_at(b->at, size, zero ? size : 0);
            if (zero) has(b, size, 0, "not zero");
        } else if (any(3) == 0) {
            has(b, old, b->fill, "contents");
            if (!size) size = 1;
            b->at = realloc(was, size);
            b->size = size;
            has(b, old < size ? old : size, b->fill, "contents moved");
            look_at(b->at, size, old < size ? old : size);
            look_at_freed(was, old);
        } else {
            has(b, old, b->fill, "contents");
            free(was);
            b->at = NULL;
            b->size = 0;
            look_at_freed(was, old);
            continue;
        }
        memset(b->at, b->fill = (unsigned char)any(256), b->size);
    }
    for (int i = 0; i < BLOCKS; i++) free(blocks[i].at);
    printf("%lu wrong\n", wrong);
    return 0;
}
