/* Sizes that are negative numbers. */
#include <malloc.h>
#include <stdlib.h>

int main(void) {
    volatile long minus = -1;
    void *volatile none = NULL;
    void *a = malloc((size_t)minus);
    void *b = calloc((size_t)minus, 1);
    void *c = malloc(10);
    void *d = realloc(c, (size_t)(minus - 4));
    void *e = calloc(1, (size_t)minus);
    void *f = calloc((size_t)minus, 32); /* overflows, which calloc has to look at itself */
    void *g = calloc(2, (size_t)minus);
    void *h = realloc(none, (size_t)minus);
    void *i = memalign(1ul << 50, (size_t)minus); /* an alignment that cannot be had, too */
    free(c);
    return a || b || d || e || f || g || h || i;
}
