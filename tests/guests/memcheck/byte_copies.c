/* mempcpy and bcopy, of words on both sides, over the end of a block and in one that was freed: suppressions know the
 * size of such accesses.
 * @build: -fno-builtin
 * @options: --leak-check=no */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int main(void) {
    static char low[64];
    char *high = calloc(1, 40), *freed = calloc(1, 40);
    free(freed);
    mempcpy(high, low, 48);
    bcopy(low, high, 48);
    mempcpy(freed, low, 16);
    bcopy(low, freed, 16);
    free(high);
    return 0;
}
