/* Of a block that grew, the new part is undefined and the old part is not. */
#include <stdlib.h>

int main(void) {
    int *p = calloc(4, sizeof *p);
    p = realloc(p, 8 * sizeof *p);
    int n = 0;
    if (p[3])
        n++;
    if (p[4])
        n += 0;
    p = realloc(p, 2 * sizeof *p);
    if (p[1])
        n++;
    free(p);
    return n;
}
