/* A bit is set, cleared or inverted outside the block: the read is the error, of the one byte.
 * @options: --track-origins=yes */
#include <stdlib.h>

#define CHANGE(op, type, at) \
    __asm__ volatile(op " %1, (%0)" : : "r"(m), "r"((type)(at)) : "memory", "cc")

int main(void) {
    unsigned char *m = malloc(61);
    CHANGE("btsq", long, -8);
    CHANGE("btrl", int, 8 * 61);
    CHANGE("btcw", short, 8 * 62);
    CHANGE("lock btsq", long, 8 * 70 + 3);
    if (m[60]) /* is still the block's, and its origin known */
        m[0] = 1;
    free(m);
    return 0;
}
