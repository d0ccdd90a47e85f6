/* mremap carries what is defined and what is not to the new place; the old one is gone. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <valgrind/memcheck.h>

int main(void) {
    volatile int sum = 0;
    char *p = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    VALGRIND_MAKE_MEM_UNDEFINED(p + 100, 50);
    char *q = mremap(p, 8192, 8 << 20, MREMAP_MAYMOVE);
    if (q == MAP_FAILED)
        return 1;
    if (q[120]) /* undefined still */
        sum++;
    if (q[99] || q[150] || q[(8 << 20) - 1])
        sum++;
    VALGRIND_MAKE_MEM_NOACCESS(q + 4096, 16);
    q = mremap(q, 8 << 20, 4096 * 4, 0);
    sum += q[4100];
    munmap(q, 4096 * 4);
    return 0;
}
