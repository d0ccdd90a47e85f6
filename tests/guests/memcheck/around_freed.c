/* Accesses just before and just behind a freed block. */
#include <stdlib.h>

int main(void) {
    char *p = malloc(100);
    free(p);
    int seen = *(volatile char *)(p - 3);
    seen += *(volatile char *)(p + 104);
    return seen == 99;
}
