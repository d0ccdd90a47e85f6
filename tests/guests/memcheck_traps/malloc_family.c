/* Blocks of every function of the malloc family, resized and freed; prints how many. With an argument, reads each once
 * after it was freed, on a line of its own. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile char sink;
static int read_freed;

static void *must(void *p) {
    if (p) return p;
    puts("NULL");
    exit(1);
}

static char *posix(size_t n) {
    void *p = NULL;
    return posix_memalign(&p, 64, n) ? NULL : p;
}

int main(int argc, char **argv) {
    read_freed = argc > 1;
    char *a = must(malloc(10));
    strcpy(a, "hello");
    a = must(realloc(a, 2000));
    char *b = must(calloc(3, 5));
    b = must(realloc(b, 300));
    char *c = must(posix(100));
    char *d = must(aligned_alloc(64, 128));
    char *e = must(memalign(32, 10));
    char *f = must(realloc(NULL, 20));
    char *g = must(strdup("by the library"));
    printf("8 blocks: %s, %d, %s\n", a, b[3], g);
    char *h = must(malloc(8));
    free(a);
    if (read_freed) sink = *a;
    free(b);
    if (read_freed) sink = *b;
    free(c);
    if (read_freed) sink = *c;
    free(d);
    if (read_freed) sink = *d;
    free(e);
    if (read_freed) sink = *e;
    free(f);
    if (read_freed) sink = *f;
    free(g);
    if (read_freed) sink = *g;
    free(h);
    if (read_freed) sink = *h;
    return 0;
}
