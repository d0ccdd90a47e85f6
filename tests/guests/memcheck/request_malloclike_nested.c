/* Blocks carved out of one that malloc gave: what lies around them is told by them, not by the whole.
 * @options: --leak-check=no */
#include <stdlib.h>
#include <valgrind/memcheck.h>

static volatile char sink;

int main(void) {
    char *slab = malloc(4096), *a = slab + 160, *b = slab + 1000, *c = slab + 1032;
    VALGRIND_MAKE_MEM_NOACCESS(slab, 4096);
    VALGRIND_MALLOCLIKE_BLOCK(a, 20, 4, 0);
    sink = a[20];
    sink = a[20 + 12];
    sink = a[20 + 23];
    sink = a[20 + 24]; /* too far: the slab's */
    sink = a[-1];
    sink = a[-24];
    sink = a[-25];
    VALGRIND_MALLOCLIKE_BLOCK(b, 16, 8, 0);
    sink = b[16 + 3];
    VALGRIND_MALLOCLIKE_BLOCK(c, 16, 8, 0);
    sink = c[16];
    VALGRIND_RESIZEINPLACE_BLOCK(c, 16, 6, 8);
    sink = c[6];
    VALGRIND_FREELIKE_BLOCK(a, 4);
    sink = slab[2000];
    return 0;
}
