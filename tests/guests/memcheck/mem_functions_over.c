/* memcpy, memmove and memset that run over the end of a block. */
#include <stdlib.h>
#include <string.h>

int main(void) {
    char from[64] = {0};
    char *p = malloc(16);
    memset(p, 1, 17);
    memmove(p, from, 20);
    memcpy(from, p, 24);
    memset(p + 16, 1, 8);
    free(p);
    return 0;
}
