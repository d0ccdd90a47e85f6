/* The sum over an array of which one element is undefined. */
#include <stdlib.h>

int main(void) {
    double *d = malloc(8 * sizeof *d);
    int *v = malloc(8 * sizeof *v), sum = 0;
    double total = 0;
    for (int i = 0; i < 8; i++)
        if (i != 5) {
            v[i] = i;
            d[i] = i;
        }
    for (int i = 0; i < 8; i++) {
        sum += v[i];
        total += d[i];
    }
    int n = 0;
    if (sum > 1000)
        n++;
    if (total > 1000)
        n++;
    free(v);
    free(d);
    return n * 0;
}
