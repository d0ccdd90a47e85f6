/* No freed block is kept back: the last ones are known all the same until the next allocation.
 * @options: -q --freelist-vol=0 */
#include <stdlib.h>

int main(void) {
    char *a = malloc(10), *b = malloc(300);
    volatile char n;
    free(a);
    free(b);
    n = a[3];
    n = b[299];
    (void)n;
    return 0;
}
