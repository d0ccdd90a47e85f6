/* A statically linked program: its own malloc and string functions are replaced too.
 * @build: -static
 * @options: -q --leak-check=full */
#include <stdlib.h>

int main(void) {
    int *p = malloc(4 * sizeof *p);
    volatile int n = p[4];
    if (p[2] == 3)
        n++;
    free(p);
    n = p[1];
    p = malloc(10);
    p = NULL;
    (void)n;
    return 0;
}
