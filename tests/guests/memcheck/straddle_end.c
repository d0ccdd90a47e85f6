/* Accesses that begin inside a block and end behind it: unaligned ones are errors of their whole size. */
#include <stdint.h>
#include <stdlib.h>

int main(void) {
    char *p = calloc(1, 18);
    volatile uint64_t seen = *(volatile uint64_t *)(p + 12);
    *(volatile uint32_t *)(p + 16) = (uint32_t)seen;
    free(p);
    return 0;
}
