/* Unaligned stores over the border of two pages of which one has code, and code that lies on the border. */
#include "code.h"

int main(void) {
    uint8_t *p = map(12288, RW);
    long sum = 0;
    require(mprotect(p + 4096, 4096, RWX) == 0, "mprotect");
    for (int i = 0; i < 300; i++) {
        /* Code begins at the second page; the store begins three bytes before it. */
        uint64_t word;
        uint8_t bytes[9] = {1, 2, 3};
        put(bytes + 3, i);
        memcpy(&word, bytes, 8);
        *(volatile uint64_t *)(p + 4093) = word;
        p[4096 + 5] = 0xc3;
        sum += ((fn)(p + 4096))();
        /* It ends with the page; the store's last bytes are in the next. */
        put(p + 8192 - 6, i);
        sum += ((fn)(p + 8192 - 6))();
        *(volatile uint64_t *)(p + 8192 - 5) = 0xc300000000000000u | (uint32_t)(i + 1) | 0xc3ull << 32;
        sum += ((fn)(p + 8192 - 6))();
        /* sixteen bytes, twelve of them before the page */
        unsigned __int128 wide = 0;
        memcpy((uint8_t *)&wide + 11, bytes + 3, 5);
        __builtin_memcpy(p + 4096 - 11, &wide, 16);
        sum += ((fn)(p + 4096))();
    }
    require(mprotect(p, 12288, RWX) == 0, "mprotect");
    for (int i = 0; i < 300; i++)
        for (int at = 4091; at < 4096; at++) {
            put(p + at, i);
            sum += ((fn)(p + at))();
            *(volatile uint32_t *)(p + at + 1) = (uint32_t)i + 1;
            sum += ((fn)(p + at))();
        }
    printf("%ld\n", sum);
    return 0;
}
