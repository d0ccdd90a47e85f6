/* Invalid writes of 1, 2, 4 and 8 bytes behind the end of a block. */
#include <stdint.h>
#include <stdlib.h>

int main(void) {
    char *p = malloc(24);
    *(volatile uint8_t *)(p + 24) = 1;
    *(volatile uint16_t *)(p + 26) = 2;
    *(volatile uint32_t *)(p + 28) = 3;
    *(volatile uint64_t *)(p + 32) = 4;
    free(p);
    return 0;
}
