/* Branches on undefined heap memory: one error each place, repetitions are counted. */
#include <stdlib.h>

int main(void) {
    int *p = malloc(10 * sizeof *p);
    int n = 0;
    for (int i = 0; i < 10; i++)
        if (p[i] == 3)
            n++;
    free(p);
    return n;
}
