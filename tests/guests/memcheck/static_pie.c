/* A static program that is position-independent.  @build: -static-pie
 * @options: --leak-check=full */
#include <stdlib.h>

int main(void) {
    int undefined, *volatile p = malloc(8);
    if (undefined == 4)
        p[1] = 1;
    p[2] = 1;
    free(p);
    p = malloc(5);
    p = 0;
    return 0;
}
