/* The red zones of MALLOCLIKE_BLOCK, RESIZEINPLACE_BLOCK and FREELIKE_BLOCK, and blocks released by the other allocator. */
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/memcheck.h>

static _Alignas(64) char pool[4096];

/* What can be accessed of the pool: a for addressable, u for undefined, - for neither. */
static void show(const char *when) {
    fprintf(stderr, "%-14s", when);
    for (int i = 0; i < 96; i += 4) {
        unsigned char bits[1];
        int there = VALGRIND_GET_VBITS(pool + i, bits, 1) == 1;
        fputc(there ? *bits ? 'u' : 'a' : '-', stderr);
    }
    fputc('\n', stderr);
}

int main(void) {
    show("fresh");
    VALGRIND_MALLOCLIKE_BLOCK(pool + 32, 16, 8, 0);
    show("undefined");
    VALGRIND_RESIZEINPLACE_BLOCK(pool + 32, 16, 24, 8);
    show("grown");
    VALGRIND_RESIZEINPLACE_BLOCK(pool + 32, 24, 8, 8);
    show("shrunk");
    VALGRIND_RESIZEINPLACE_BLOCK(pool + 32, 8, 8, 12);
    show("as large");
    VALGRIND_RESIZEINPLACE_BLOCK(pool + 32, 99, 16, 8);
    show("wrong size");
    VALGRIND_RESIZEINPLACE_BLOCK(pool + 36, 16, 16, 8);
    show("wrong place");
    VALGRIND_FREELIKE_BLOCK(pool + 32, 8);
    show("released");
    VALGRIND_FREELIKE_BLOCK(pool + 32, 8);
    VALGRIND_RESIZEINPLACE_BLOCK(pool + 32, 8, 8, 8);
    VALGRIND_MAKE_MEM_DEFINED(pool, 96);
    VALGRIND_MALLOCLIKE_BLOCK(pool + 32, 16, 0, 1);
    show("defined");
    VALGRIND_RESIZEINPLACE_BLOCK(pool + 32, 16, 0, 4);
    show("empty");
    VALGRIND_FREELIKE_BLOCK(pool + 32, 12);
    show("released");

    VALGRIND_MAKE_MEM_DEFINED(pool, 96);
    VALGRIND_MALLOCLIKE_BLOCK(pool + 32, 16, 24, 1);
    free(pool + 32);
    show("free");
    VALGRIND_MAKE_MEM_DEFINED(pool, 96);
    VALGRIND_MALLOCLIKE_BLOCK(pool + 32, 16, 24, 1);
    char *p = realloc(pool + 32, 40);
    show("realloc");
    if (p) p[0] = 1;
    char *m = malloc(20);
    VALGRIND_RESIZEINPLACE_BLOCK(m, 20, 12, 4);
    fprintf(stderr, "%#lx\n", (unsigned long)VALGRIND_CHECK_MEM_IS_ADDRESSABLE(m, 20) - (unsigned long)m);
    VALGRIND_FREELIKE_BLOCK(m, 0);
    m = malloc(24);
    VALGRIND_FREELIKE_BLOCK(m, 16);
    free(m);
    VALGRIND_FREELIKE_BLOCK(pool + 5, 16);

    /* A block at the start of the one that it is cut from hides that. */
    m = malloc(64);
    VALGRIND_MALLOCLIKE_BLOCK(m, 16, 0, 0);
    free(m);
    free(m);
    free(m);
    m = malloc(64);
    VALGRIND_MALLOCLIKE_BLOCK(m, 16, 0, 0);
    VALGRIND_FREELIKE_BLOCK(m, 0);
    free(m);
    return 0;
}
