/* What a program has closed of a block stays closed when realloc moves it, and only that. @options: -q */
#include <stdlib.h>
#include <string.h>

#include "valgrind/memcheck.h"

static volatile int sink;

static void grows(size_t size, size_t at, size_t closed, size_t to) {
    char *p = calloc(size, 1);
    VALGRIND_MAKE_MEM_NOACCESS(p + at, closed);
    VALGRIND_MAKE_MEM_UNDEFINED(p + at + closed, 1);
    p = realloc(p, to);
    sink = p[at - 1];
    sink = p[at];
    if (at + closed - 1 < to) sink = p[at + closed - 1];
    if (at + closed < to) sink = p[at + closed];
    if (to > size) sink = p[size];
    VALGRIND_CHECK_MEM_IS_ADDRESSABLE(p, at);
    if (at + closed < to) VALGRIND_CHECK_MEM_IS_ADDRESSABLE(p + at + closed, to - at - closed);
    free(p);
}

int main(void) {
    grows(64, 16, 16, 5000);
    grows(64, 13, 7, 64);
    grows(64, 13, 30, 20);
    grows(61, 60, 1, 62);
    grows(100000, 50001, 9000, 200000);
    grows(100000, 50001, 9000, 55000);
    char *stripes = malloc(64); /* several, and all bytes undefined */
    for (int i = 0; i < 64; i += 8) VALGRIND_MAKE_MEM_NOACCESS(stripes + i, 3);
    stripes = realloc(stripes, 80);
    for (int i = 0; i < 80; i++)
        if (VALGRIND_CHECK_MEM_IS_ADDRESSABLE(stripes + i, 1)) sink++;
    return sink & 63;
}
