/* All code tracked, one instruction at a time.
 * @ours: --force-tracking=yes --single-step=yes */
#include <stdlib.h>
int main(void) {
    int *p = malloc(10);
    volatile int sum = 0;
    p[0] = 3;
    if (p[0] + p[1] == 4) /* undefined */
        sum++;
    p[2] = 1; /* half behind the block */
    free(p);
    return 0;
}
