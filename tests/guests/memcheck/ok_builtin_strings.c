/* No error: the same in optimised code, with the compiler's own versions.
 * @build: -O3 -mavx2 */
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    int bad = 0;
    (void)argv;
    for (int n = 1; n < 70; n++) {
        char *p = malloc((size_t)n), *q = malloc((size_t)n);
        memset(p, 'x', (size_t)n);
        p[n - 1] = 0;
        memcpy(q, p, (size_t)n);
        bad += strlen(p) != (size_t)n - 1 || strcmp(p, q) != 0 || memcmp(p, q, (size_t)n) != 0;
        bad += __builtin_strlen(q) + (size_t)argc - 1 != (size_t)n - 1;
        free(p);
        free(q);
    }
    return bad;
}
