/* An undefined number as an index: a use of an undefined address. */
#include <stdlib.h>

static int table[256];

int main(void) {
    unsigned char *p = malloc(1);
    volatile int n = table[*p];
    table[*p] = 2;
    (void)n;
    free(p);
    return 0;
}
