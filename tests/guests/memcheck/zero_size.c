/* malloc(0) gives a block without bytes. */
#include <stdlib.h>

int main(void) {
    volatile char *p = malloc(0);
    char x = p[0];
    p[-1] = x;
    free((void *)p);
    return 0;
}
