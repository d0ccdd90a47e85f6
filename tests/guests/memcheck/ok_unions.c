/* No error: unions, tagged values, and bits that cancel whatever they were. */
#include <stdint.h>
#include <stdlib.h>

union word { uint64_t all; uint32_t half[2]; uint8_t byte[8]; double d; };

int main(void) {
    union word *u = malloc(sizeof *u);
    uint32_t *noise = malloc(sizeof *noise);
    int bad = 0;
    u->half[0] = 0x01020304;
    if (u->byte[0] != 4)
        bad++;
    u->byte[4] = 9;
    if ((u->all >> 32 & 0xff) != 9)
        bad++;
    u->d = 1.0;
    if (u->half[1] != 0x3ff00000)
        bad++;
    if (*noise & 0)
        bad++;
    if ((*noise ^ *noise) & 0)
        bad++;
    if ((*noise | 0xffffffff) != 0xffffffff)
        bad++;
    uint32_t x;
    __asm__ volatile("xorl %0, %0" : "=r"(x));
    free(noise);
    free(u);
    return bad + (int)x;
}
