/* A block of many pages: its ends, and a freed one. */
#include <stdlib.h>

int main(void) {
    size_t n = 5000000;
    volatile char *p = malloc(n);
    p[0] = p[n - 1] = 1;
    p[n] = 1;
    p[-1] = 1;
    char x = p[n / 2];
    if (x == 5)
        p[1] = 1;
    free((void *)p);
    p[n / 2] = 1;
    return 0;
}
