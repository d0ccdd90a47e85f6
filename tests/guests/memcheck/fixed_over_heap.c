/* A private mapping of a file over a page of a freed block. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
    char *p = aligned_alloc(4096, 300000);
    char *page = (char *)(((uintptr_t)p + 8191) & ~(uintptr_t)4095);
    free(p);
    volatile int sum = page[10]; /* freed */
    mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    sum += page[10]; /* the program's again */
    page[4095] = 1;
    sum += page[4096]; /* still freed */
    return 0;
}
