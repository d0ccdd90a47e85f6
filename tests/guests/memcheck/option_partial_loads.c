/* --partial-loads-ok=no: the aligned load over the end is an error.
 * @options: --partial-loads-ok=no */
#include <stdint.h>
#include <stdlib.h>

int main(void) {
    char *p = calloc(1, 12);
    volatile uint64_t w = *(volatile uint64_t *)(p + 8);
    (void)w;
    free(p);
    return 0;
}
