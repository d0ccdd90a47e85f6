/* A just-in-time compiler that flips its pages between writable and executable, ten thousand times. */
#include "code.h"

int main(void) {
    uint8_t *p = map(8192, RW);
    long sum = 0;
    for (int i = 0; i < 10000; i++) {
        require(mprotect(p, 4096, RW) == 0, "mprotect");
        put(p + i % 8 * 16, i);
        require(mprotect(p, 4096, RX) == 0, "mprotect");
        sum += ((fn)(p + i % 8 * 16))();
    }
    printf("%ld\n", sum);
    return 0;
}
