/* A call leads to code of the same page that is written often: sometimes it overwrites the flags that the code before
 * the call has set, sometimes it reads them. */
#include "code.h"

static const uint8_t reads[] = {0x0f, 0x92, 0xc0, 0x0f, 0xb6, 0xc0, 0xc3};            /* setc al; movzx eax, al; ret */
static const uint8_t overwrites[] = {0x31, 0xc0, 0x83, 0xc0, 0x00, 0xc3};             /* xor eax, eax; add eax, 0; ret */
static const uint8_t before[] = {0xf9, 0x48, 0x8b, 0x17, 0x48, 0x8b, 0x4f, 0x08, 0xe8, 0x33, 0, 0, 0, 0xc3};
/* stc; mov rdx, [rdi]; mov rcx, [rdi + 8]; call to 64; ret */

int main(void) {
    uint8_t *page = map(4096, RWX);
    long words[2] = {1, 2}, sums[2] = {0, 0};
    memcpy(page, before, sizeof before);
    for (int i = 0; i < 120; i++) {
        int which = i / 3 & 1;
        if (which)
            memcpy(page + 64, reads, sizeof reads);
        else
            memcpy(page + 64, overwrites, sizeof overwrites);
        for (int k = 0; k < 3; k++) sums[which] += ((int (*)(long *))(void *)page)(words);
    }
    printf("%ld %ld\n", sums[0], sums[1]);
    return 0;
}
