/* Comparisons of undefined floating-point values: SSE scalar, and the x87.
 */
#include <stdlib.h>

int main(void) {
    float *f = malloc(sizeof *f);
    long double *l = malloc(sizeof *l);
    int n = 0;
    if (*f < 1.5f)
        n++;
    if (*l < 1.5L)
        n++;
    free(f);
    free(l);
    return n * 0;
}
