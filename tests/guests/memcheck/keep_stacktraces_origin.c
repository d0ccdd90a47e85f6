/* Undefined values of blocks whose allocation nobody remembers, one beside such of the stack.
 * @options: --keep-stacktraces=free */
#include <stdlib.h>

int main(void) {
    int *p = malloc(40);
    volatile int here[4], seen = 0;
    if (p[3] > 7) seen = 1;
    if (here[2] > 7) seen = 2;
    if (p[4] + here[1] > 7) seen = 3;
    free(p);
    return 0;
}
