/* Chunks of memory pools in leak searches: in place of the block that they lie in, and beside others.
 * @options: --leak-check=full --show-leak-kinds=all */
#include <stdlib.h>
#include <valgrind/memcheck.h>

static volatile char sink;
static int pool, empty;
static char *keep;

static void *__attribute__((noinline)) take(char *p, long n) {
    VALGRIND_MEMPOOL_ALLOC(&pool, p, n);
    return p;
}

static void __attribute__((noinline)) fill(char *super) {
    VALGRIND_MAKE_MEM_NOACCESS(super, 4096);
    VALGRIND_CREATE_MEMPOOL(&pool, 0, 1);
    char **a = take(super, 32), **b = take(super + 64, 40), *c = take(super + 128, 16), *d = take(super + 256, 17);
    char *e = take(super + 512, 50), **f = take(super + 1024, 60);
    a[0] = (char *)b;
    b[1] = d + 1;
    f[0] = malloc(300); /* lost with the chunk */
    malloc(400);
    keep = c + 2;
    sink = super[40];
    sink = super[600];
    VALGRIND_MEMPOOL_FREE(&pool, e);
}

int main(void) {
    VALGRIND_CREATE_MEMPOOL(&empty, 0, 0);
    VALGRIND_DO_LEAK_CHECK;
    fill(malloc(4096));
    VALGRIND_DO_LEAK_CHECK;
    keep = 0;
    VALGRIND_DO_CHANGED_LEAK_CHECK;
    VALGRIND_DESTROY_MEMPOOL(&pool);
    return 0;
}
