/* realloc(p, 0) that does not free.  @ours: --realloc-zero-bytes-frees=no --show-realloc-size-zero=no
 * @options: --leak-check=full */
#include <stdlib.h>
int main(void) {
    char *volatile p = malloc(10);
    p = realloc(p, 0);
    if (p)
        free(p);
    return 0;
}
