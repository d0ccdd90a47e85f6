/* Alignments that the functions do not allow: reported since 3.22. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>

int main(void) {
    void *p = NULL;
    volatile size_t odd = 24;
    if (posix_memalign(&p, odd, 10) == 0)
        return 1;
    void *q = aligned_alloc(odd, 48);
    return q != NULL;
}
