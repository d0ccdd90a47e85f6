/* One bit of a word is undefined: only the test of that bit is an error. */
#include <stdlib.h>

int main(void) {
    unsigned *p = malloc(sizeof *p);
    unsigned x = (*p & 0x10) | 3;
    int n = 0;
    if (x & 1)
        n++;
    if (x & 0x20)
        n += 2;
    if (x & 0x10)
        n += 0;
    free(p);
    return n - 1;
}
