/* An aligned word load that only its end exceeds the block is no error, but what it read there is undefined. */
#include <stdint.h>
#include <stdlib.h>

int main(void) {
    char *p = calloc(1, 12);
    uint64_t w = *(volatile uint64_t *)(p + 8);
    int result = 0;
    if ((uint32_t)w) /* the half inside the block: fine */
        result = 1;
    if (w >> 32) /* the other half: an error */
        result |= 0;
    free(p);
    return result;
}
