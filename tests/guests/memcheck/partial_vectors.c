/* Aligned vector loads that only their ends exceed the block are no error; what they read there is undefined,
 * and a load without a byte of the block, or one that is not aligned, is an error.
 * @build: -mavx
 * @options: -q --leak-check=no */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static unsigned char out[32];
static int undefined;

static void load16(const char *p) {
    __asm__ volatile("movdqu %1, %%xmm0\n\t"
                     "movdqu %%xmm0, %0"
                     : "=m"(out)
                     : "m"(*(const char(*)[16])p)
                     : "xmm0");
}

static void load32(const char *p) {
    __asm__ volatile("vmovdqu %1, %%ymm0\n\t"
                     "vmovdqu %%ymm0, %0\n\t"
                     "vzeroupper"
                     : "=m"(out)
                     : "m"(*(const char(*)[32])p)
                     : "xmm0");
}

int main(void) {
    char *p = aligned_alloc(64, 64 + 20);
    memset(p, 1, 84);
    int result = 0;
    load16(p + 80); /* 4 of 16 bytes */
    if (out[3] != 1)
        result = 1;
    if (out[4]) /* undefined */
        undefined++;
    load32(p + 64); /* 20 of 32 bytes */
    if (out[19] != 1)
        result = 2;
    if (out[20]) /* undefined */
        undefined++;
    load16(p + 84 - 4 - 1); /* not aligned */
    load32(p + 64 + 16);    /* aligned to 16 only */
    load32(p + 96);         /* behind */
    free(p);
    return result;
}
