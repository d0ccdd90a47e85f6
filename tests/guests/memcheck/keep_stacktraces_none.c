/* What is told of blocks with --keep-stacktraces=none.
 * @options: --keep-stacktraces=none --leak-check=full */
#include <stdlib.h>

int main(void) {
    char *p = malloc(10);
    p[10] = 1;
    free(p);
    p[3] = 2;
    free(p);
    p = malloc(20);
    return p == 0;
}
