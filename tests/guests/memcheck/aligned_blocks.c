/* Overruns of blocks from the aligned allocation functions. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

int main(void) {
    void *p = NULL;
    if (posix_memalign(&p, 64, 100) || (uintptr_t)p % 64)
        return 1;
    char *q = aligned_alloc(256, 512), *r = memalign(4096, 10);
    if ((uintptr_t)q % 256 || (uintptr_t)r % 4096)
        return 2;
    ((volatile char *)p)[100] = 1;
    ((volatile char *)q)[-1] = 1;
    ((volatile char *)r)[11] = 1;
    free(p);
    free(q);
    free(r);
    return 0;
}
