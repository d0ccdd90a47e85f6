/* brk both ways, mremap, MAP_32BIT, large reservations, MAP_FIXED_NOREPLACE, madvise, mincore of nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
    static char out[4096];
    setvbuf(stdout, out, _IOFBF, sizeof out); /* stdio must not take the heap meanwhile */
    char *old = sbrk(0);
    printf("brk up %d", sbrk(1 << 20) == old);
    old[12345] = 5;
    printf(" down %d", sbrk(-(1 << 20)) == old + (1 << 20));
    printf(" same %d\n", sbrk(0) == old);
    char *p = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    strcpy(p + 4090, "over");
    char *q = mremap(p, 8192, 1 << 22, MREMAP_MAYMOVE);
    printf("mremap %s\n", q + 4090);
    q = mremap(q, 1 << 22, 4096, 0);
    printf("shrunk %d\n", q[4090]);
    char *big = mmap(0, 64ull << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    printf("64 GiB %d", big != MAP_FAILED);
    mprotect(big + (40ull << 30), 4096, PROT_READ | PROT_WRITE);
    big[40ull << 30] = 9;
    printf(" %d", big[40ull << 30]);
    printf(" %d\n", munmap(big, 64ull << 30));
    char *low = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    printf("32bit %d\n", (uintptr_t)low < (1ull << 31));
    errno = 0;
    char *no = mmap(low, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    printf("noreplace %d %d\n", no == MAP_FAILED, errno == EEXIST);
    printf("bad %d", mmap(0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    printf(" %s\n", strerror(errno));
    low[0] = 3;
    madvise(low, 4096, MADV_DONTNEED);
    printf("zero %d\n", low[0]);
    unsigned char vec[1];
    printf("mincore %d", mincore(low, 4096, vec));
    munmap(low, 4096);
    printf(" %d", mincore(low, 4096, vec));
    printf(" %s\n", strerror(errno));
    printf("mprotect nothing %d", mprotect(low, 4096, PROT_READ));
    printf(" %s\n", strerror(errno));
    return 0;
}
