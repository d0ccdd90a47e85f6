/* Each call of the family, with its arguments and result.
 * @options: --trace-malloc=yes --run-libc-freeres=no */
#include <malloc.h>
#include <stdlib.h>
int main(void) {
    char *p = malloc(10);
    p = realloc(p, 20);
    free(p);
    p = calloc(2, 8);
    free(p);
    p = memalign(64, 10);
    malloc_usable_size(p);
    free(p);
    free(0);
    return 0;
}
