/* %s of undefined and unended strings, %n, a star of undefined width, wide strings; into buffers and to nobody.
 * @options: --leak-check=no */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *p = malloc(4), out[64];
    int undefined;
    snprintf(out, sizeof out, "%.2s|", p);
    memcpy(p, "abcd", 4);
    snprintf(out, sizeof out, "%.4s|", p);  /* stops in time */
    snprintf(out, sizeof out, "%.*s|", 5, p);
    snprintf(out, sizeof out, "%c", undefined);
    if (out[0] == 'q') /* what was printed is undefined */
        out[1] = 0;
    free(p);
    return 0;
}
