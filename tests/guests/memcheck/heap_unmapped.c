/* munmap and MAP_FIXED in the middle of a large heap block; then it is freed.
 * @options: --leak-check=full */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(void) {
    char *p = aligned_alloc(4096, 1 << 20);
    char *page = (char *)(((uintptr_t)p + 8191) & ~(uintptr_t)4095);
    volatile int sum = 0;
    page[0] = 1;
    mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (page[0]) /* fresh, so defined and zero */
        sum++;
    if (page[4096]) /* still the block's, never written */
        sum++;
    page[4095] = 1;
    mprotect(page, 4096, PROT_READ);
    sum += page[4095];
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    free(p);
    page[1] = 1; /* freed */
    return 0;
}
