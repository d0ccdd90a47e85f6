/* Chunks of a pool that overlap are told at requests about the pool, not where they are made: before and after a trim
 * and a change, and before the end. */
#include <valgrind/memcheck.h>

static char area[8192], large[300000];

int main(void) {
    VALGRIND_CREATE_MEMPOOL(area, 16, 0);
    VALGRIND_MEMPOOL_ALLOC(area, area + 1016, 16);
    VALGRIND_MEMPOOL_ALLOC(area, area + 1008, 16);
    VALGRIND_MEMPOOL_ALLOC(area, area + 1000, 16);
    VALGRIND_MEMPOOL_ALLOC(area, area + 6000, 100);
    VALGRIND_MEMPOOL_ALLOC(area, area + 6010, 10);
    VALGRIND_MEMPOOL_ALLOC(area, area + 6050, 10);
    VALGRIND_MEMPOOL_TRIM(area, area, 8000);
    VALGRIND_MEMPOOL_FREE(area, area + 1008);
    VALGRIND_MEMPOOL_CHANGE(area, area + 1016, area + 1017, 15);
    VALGRIND_MEMPOOL_TRIM(area, area, 5800); /* no longer */
    VALGRIND_MEMPOOL_CHANGE(area, area + 1017, area + 1015, 15);
    VALGRIND_DESTROY_MEMPOOL(area);

    /* Beside each other, empty, and many. */
    VALGRIND_CREATE_MEMPOOL(area, 16, 0);
    VALGRIND_MEMPOOL_ALLOC(area, area + 100, 10);
    VALGRIND_MEMPOOL_ALLOC(area, area + 110, 0);
    VALGRIND_MEMPOOL_ALLOC(area, area + 111, 2);
    VALGRIND_MEMPOOL_ALLOC(area, area + 113, 2);
    VALGRIND_MEMPOOL_TRIM(area, area, 8000);
    VALGRIND_DESTROY_MEMPOOL(area);
    VALGRIND_CREATE_MEMPOOL(large, 0, 0);
    for (unsigned i = 0; i < 1000; i++)
        VALGRIND_MEMPOOL_ALLOC(large, large + i * 7919 % 1000 * 16, 16);
    VALGRIND_MEMPOOL_TRIM(large, large, sizeof large);
    VALGRIND_DESTROY_MEMPOOL(large);
    return 0;
}
