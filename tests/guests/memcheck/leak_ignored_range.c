/* A pointer where accesses are ignored does not count, if its first byte lies there.
 * @options: --leak-check=full --show-leak-kinds=all */
#include <stdlib.h>
#include <valgrind/memcheck.h>

static void *place[8];

static void ignore(char *at, size_t size) { VALGRIND_DISABLE_ADDR_ERROR_REPORTING_IN_RANGE(at, size); }

int main(void) {
    for (int i = 0; i < 6; i++) place[i] = malloc(16 + i);
    ignore((char *)&place[0], 8);     /* lost */
    ignore((char *)&place[1] + 1, 7); /* reachable */
    ignore((char *)&place[2] - 3, 4); /* lost */
    ignore((char *)&place[4], 1);     /* lost */
    ignore((char *)&place[5], 8);
    VALGRIND_ENABLE_ADDR_ERROR_REPORTING_IN_RANGE(&place[5], 8); /* reachable */
    char **block = malloc(64);
    place[6] = block;
    block[2] = malloc(100);
    ignore((char *)&block[2], 8); /* lost */
    return 0;
}
