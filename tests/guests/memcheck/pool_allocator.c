/* An allocator of the program's own: a chunk from malloc, a pool in it with red zones, trimmed and moved.
 * @options: --leak-check=full --show-leak-kinds=all */
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

struct arena {
    char *chunk;
    size_t used;
};

static void *take(struct arena *a, size_t n) {
    char *p = a->chunk + a->used + 8;
    a->used += n + 16;
    VALGRIND_MEMPOOL_ALLOC(a, p, n);
    return p;
}

int main(void) {
    struct arena a = {malloc(1000), 0}, b;
    volatile int sum = 0;
    VALGRIND_MAKE_MEM_NOACCESS(a.chunk, 1000);
    VALGRIND_CREATE_MEMPOOL(&a, 8, 0);
    char *x = take(&a, 20), *y = take(&a, 30), *z = take(&a, 40);
    x[20] = 1;         /* in the red zone */
    if (y[3])          /* undefined */
        sum++;
    VALGRIND_MEMPOOL_FREE(&a, x);
    x[0] = 1;          /* freed */
    VALGRIND_MEMPOOL_FREE(&a, x);
    VALGRIND_MEMPOOL_CHANGE(&a, z, z, 10);
    z[10] = 1;         /* behind its new end */
    VALGRIND_MEMPOOL_TRIM(&a, y, 15);
    y[14] = 1;
    y[15] = 1;         /* trimmed */
    if (VALGRIND_MEMPOOL_EXISTS(&a))
        VALGRIND_MOVE_MEMPOOL(&a, &b);
    if (VALGRIND_MEMPOOL_EXISTS(&a))
        sum++;
    VALGRIND_MEMPOOL_ALLOC(&b, a.chunk + 500, 50);
    VALGRIND_MEMPOOL_FREE(&a, y); /* of no pool */
    VALGRIND_DESTROY_MEMPOOL(&b);
    a.chunk[500] = 1;
    free(a.chunk);
    return 0;
}
