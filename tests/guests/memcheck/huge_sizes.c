/* Sizes that no heap has, zero, and products that overflow.  @options: --leak-check=full --show-leak-kinds=all */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

void *volatile kept[12];

int main(void) {
    volatile size_t huge = (size_t)1 << 60, negative = (size_t)-5;
    kept[0] = malloc(huge);
    kept[1] = calloc(huge, 16);
    kept[2] = calloc(negative, 1);
    kept[3] = malloc(0);
    kept[4] = calloc(0, 5);
    kept[5] = realloc(0, 0);
    kept[6] = malloc(10);
    void *same = realloc(kept[6], huge);
    kept[7] = aligned_alloc(64, huge);
    kept[8] = reallocarray(kept[6], huge, 32);
    kept[9] = reallocarray(NULL, negative, 1);
    void *none = &none;
    errno = 0;
    if (posix_memalign(&none, 64, huge) != ENOMEM || errno != ENOMEM || none != &none) return 2;
    free(calloc(negative, 0));
    free(calloc(0, negative));
    int all = !kept[0] + !kept[1] + !kept[2] + !same + !kept[7] + !kept[8] + !kept[9];
    ((volatile char *)kept[3])[0] = 1; /* a block of no bytes */
    return all == 7 ? errno != ENOMEM : 1;
}
