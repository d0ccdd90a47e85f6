/* The exit status is undefined. */
#include <stdlib.h>

int main(void) {
    int *p = malloc(sizeof *p);
    int status = *p;
    free(p);
    exit(status & 0x7f00);
}
