/* Invalid reads of 1, 2, 4 and 8 bytes behind the end of a block. */
#include <stdint.h>
#include <stdlib.h>

int main(void) {
    char *p = calloc(1, 40);
    uint64_t sum = 0;
    sum += *(volatile uint8_t *)(p + 40);
    sum += *(volatile uint16_t *)(p + 42);
    sum += *(volatile uint32_t *)(p + 44);
    sum += *(volatile uint64_t *)(p + 48);
    free(p);
    return sum == 1;
}
