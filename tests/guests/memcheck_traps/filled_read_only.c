/* A block that is freed while a page of it may only be read: what options fill stops there, as the program would. */
/* @options: --free-fill=55 --malloc-fill=33 --freelist-vol=0 */
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096ul

int main(void) {
    char *blocks[16];
    for (int i = 0; i < 16; i++) {
        blocks[i] = aligned_alloc(PAGE, 3 * PAGE);
        if (mprotect(blocks[i] + PAGE, PAGE, PROT_READ)) return 1;
        free(blocks[i]);
    }
    for (int i = 0; i < 16; i++) blocks[i] = malloc(3 * PAGE);
    for (int i = 0; i < 16; i++) free(blocks[i]);
    return 0;
}
