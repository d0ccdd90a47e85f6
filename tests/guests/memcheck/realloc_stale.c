/* The old pointer after realloc: reads and writes into a block released by realloc. */
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *p = malloc(20);
    memset(p, 1, 20);
    char *q = realloc(p, 40);
    volatile char *stale = p;
    stale[5] = stale[4];
    free(q);
    return 0;
}
