/* Ranges of some megabytes are closed, opened and defined by requests, but for bytes at both ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

#define SIZE (24u << 20)

int main(void) {
    char *p = malloc(SIZE);
    memset(p, 1, SIZE);
    VALGRIND_MAKE_MEM_NOACCESS(p + 5, SIZE - 9);
    printf("closed from %ld\n", (long)VALGRIND_CHECK_MEM_IS_ADDRESSABLE(p, SIZE) - (long)p);
    printf("the end: %ld\n", (long)VALGRIND_CHECK_MEM_IS_ADDRESSABLE(p + SIZE - 4, 4));
    p[3] = p[4]; /* both are open */
    p[SIZE - 4] = 1;
    printf("read %d\n", p[SIZE / 2]);
    p[SIZE - 5] = 2;
    VALGRIND_MAKE_MEM_DEFINED(p + 6, 1);
    printf("closed from %ld\n", (long)VALGRIND_CHECK_MEM_IS_ADDRESSABLE(p + 6, SIZE - 10) - (long)p);
    VALGRIND_MAKE_MEM_UNDEFINED(p + 5, SIZE - 9);
    printf("undefined from %ld\n", (long)VALGRIND_CHECK_MEM_IS_DEFINED(p, SIZE) - (long)p);
    p[5000] = 1;
    printf("undefined from %ld\n", (long)VALGRIND_CHECK_MEM_IS_DEFINED(p + 5000, 9) - (long)p);
    VALGRIND_MAKE_MEM_NOACCESS(p, SIZE); /* the block's own ends, too */
    VALGRIND_MAKE_MEM_DEFINED(p, SIZE);
    printf("all of it: %ld\n", (long)VALGRIND_CHECK_MEM_IS_DEFINED(p, SIZE));
    free(p);
    return 0;
}
