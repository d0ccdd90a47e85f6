/* Without guard bytes a block's neighbour may be another one; what is freed is still seen.
 * @options: --redzone-size=0 --leak-check=full */
#include <stdlib.h>

int main(void) {
    char *p = malloc(24);
    free(p);
    p[5] = 1;
    p = malloc(10);
    p = 0;
    return 0;
}
