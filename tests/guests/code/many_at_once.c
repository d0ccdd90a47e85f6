/* Thousands of small functions, all called through pointers, all replaced by one call: new pages, another protection. */
#include "code.h"

#define FUNCTIONS 12000
#define EACH 16
#define BYTES ((size_t)FUNCTIONS * EACH)

static long call(uint8_t *p, int i) { return ((fn)(p + (size_t)i * EACH))() * (i % 7 + 1); }

/* Backwards and forwards: what was called last is called first the next time. */
static long call_all(uint8_t *p) {
    long sum = 0;
    for (int i = FUNCTIONS; i-- > 0;)
        sum += call(p, i);
    for (int i = 0; i < FUNCTIONS; i++)
        sum += call(p, i);
    return sum;
}

static void put_all(uint8_t *p, int first) {
    for (int i = 0; i < FUNCTIONS; i++)
        put(p + (size_t)i * EACH, first + i);
}

static uint8_t *low(void) {
    void *p = mmap(NULL, BYTES, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    require(p != MAP_FAILED, "mmap");
    return p;
}

int main(void) {
    uint8_t *p = low();
    put_all(p, 1);
    require(mprotect(p, BYTES, RX) == 0, "mprotect");
    printf("%ld\n", call_all(p));
    require(mprotect(p, BYTES, RW) == 0, "mprotect");
    put_all(p, 1000000);
    require(mprotect(p, BYTES, RX) == 0, "mprotect");
    printf("%ld\n", call_all(p));
    uint8_t *other = low();
    put_all(other, 5000000);
    require(mprotect(other, BYTES, RX) == 0, "mprotect");
    require(mremap(other, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, p) == p, "mremap");
    printf("%ld\n", call_all(p));
    return 0;
}
