/* Blocks aligned by --alignment, their guard bytes as wide as --redzone-size says: what is one's end, what is another's.
 * @options: --alignment=256 --redzone-size=40 --leak-check=no */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    char *p = malloc(5), *q = malloc(300);
    volatile int sum = 0;
    fprintf(stdout, "%lu %lu\n", (unsigned long)p % 256, (unsigned long)q % 256);
    sum += p[44];  /* its red zone */
    sum += q[-40]; /* the other's */
    sum += q[300];
    free(p);
    free(q);
    return 0;
}
