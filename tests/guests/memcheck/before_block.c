/* Invalid reads and writes of each size before the start of a block. */
#include <stdint.h>
#include <stdlib.h>

int main(void) {
    char *p = calloc(4, 8);
    int seen = *(volatile uint8_t *)(p - 1);
    seen += *(volatile uint32_t *)(p - 8);
    *(volatile uint16_t *)(p - 2) = 1;
    *(volatile uint64_t *)(p - 16) = 1;
    free(p);
    return seen == 123456;
}
