/* realloc of a pointer into a block, and of a block already released. */
#include <stdlib.h>

int main(void) {
    char *p = malloc(20);
    char *q = realloc(p + 4, 30);
    free(p);
    char *r = realloc(p, 30);
    return q != NULL || r != NULL;
}
