/* Rings of blocks of different sizes that nothing points into: the one that is named leads to the others.
 * @options: --leak-check=full --show-leak-kinds=all */
#include <stdlib.h>
#include <string.h>

#define MADE(name, size)                                                                                               \
    __attribute__((noinline)) static void **name(void) { return calloc(1, size); }

MADE(small, 24)
MADE(middle, 200)
MADE(big, 5000)
MADE(huge, 100000)

__attribute__((noinline)) static void **grown(void) { return memset(realloc(malloc(64), 1000), 0, 1000); }

__attribute__((noinline)) static void ring(void **(*one)(void), void **(*two)(void), void **(*three)(void)) {
    void **a = one(), **b = two(), **c = three();
    a[0] = b;
    b[0] = c;
    c[0] = a;
}

int main(void) {
    ring(small, middle, big);
    ring(big, middle, small);
    ring(middle, huge, small);
    free(malloc(24));
    ring(huge, small, middle);
    ring(middle, small, small);
    ring(grown, small, big);
    ring(huge, grown, middle);
    volatile char stack[4000];
    memset((void *)stack, 0, sizeof stack); /* no pointer is left there */
    return 0;
}
