/* Sizes that are negative numbers. */
#include <stdlib.h>

int main(void) {
    volatile long minus = -1;
    void *a = malloc((size_t)minus);
    void *b = calloc((size_t)minus, 1);
    void *c = malloc(10);
    void *d = realloc(c, (size_t)(minus - 4));
    void *e = calloc(1, (size_t)minus);
    free(c);
    return a || b || d || e;
}
