/* Errors with blocks, whoever's malloc is asked for them. */
#include <stdlib.h>

static volatile char sink;

int main(void) {
    char *p = malloc(100);
    sink = p[100];
    free(p);
    sink = p[5];
    p = calloc(10, 10);
    sink = p[3] ? 1 : 0;
    p = realloc(p, 500);
    if (p[200]) sink = 1;
    free(p + 1);
    p = malloc(100);
    p = 0;
    return 0;
}
