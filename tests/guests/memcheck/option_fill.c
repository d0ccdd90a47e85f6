/* What --malloc-fill and --free-fill leave in blocks, of any size and kind.
 * @options: --malloc-fill=0xab --free-fill=cd */
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/memcheck.h>

static void show(const char *what, unsigned char *p, long n) {
    VALGRIND_MAKE_MEM_DEFINED(p, n);
    printf("%s %02x %02x %02x\n", what, p[0], p[n / 2], p[n - 1]);
}

int main(void) {
    for (long n = 10; n < 100000; n *= 10) {
        unsigned char *p = malloc(n);
        show("malloc", p, n);
        free(p);
        show("free", p, n);
        p = calloc(n, 1);
        show("calloc", p, n);
        unsigned char *q = realloc(p, 2 * n);
        show("realloc", q + n, n);
        show("old", p, n);
        free(q);
    }
    return 0;
}
