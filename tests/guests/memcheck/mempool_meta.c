/* A metapool, whose chunks hold blocks; with AUTO_FREE these go when their chunk is freed.
 * @options: --leak-check=full --show-leak-kinds=all */
#include <string.h>
#include <sys/mman.h>
#include <valgrind/memcheck.h>

static volatile char sink;
static int pool, plain;
static char *arena;

static void __attribute__((noinline)) like(char *p, long n) { VALGRIND_MALLOCLIKE_BLOCK(p, n, 0, 0); }

static void __attribute__((noinline)) run(int *which, int flags) {
    VALGRIND_CREATE_MEMPOOL_EXT(which, 0, 0, flags);
    VALGRIND_MEMPOOL_ALLOC(which, arena, 1000);
    VALGRIND_MAKE_MEM_NOACCESS(arena, 1000);
    like(arena + 100, 200);
    like(arena + 950, 100); /* ends outside of the chunk */
    sink = arena[110];
    sink = arena[301];
    VALGRIND_MEMPOOL_FREE(which, arena);
    sink = arena[960];
    sink = arena[110];
    VALGRIND_FREELIKE_BLOCK(arena + 100, 0); /* with AUTO_FREE: for the second time */
    VALGRIND_FREELIKE_BLOCK(arena + 950, 0);
    like(arena + 5000, 10);
    VALGRIND_MEMPOOL_ALLOC(which, arena + 4096, 2000);
    VALGRIND_DESTROY_MEMPOOL(which);
    VALGRIND_FREELIKE_BLOCK(arena + 5000, 0);
}

int main(void) {
    arena = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    run(&pool, VALGRIND_MEMPOOL_METAPOOL | VALGRIND_MEMPOOL_AUTO_FREE);
    memset(arena, 0, 0);
    arena += 16384;
    run(&plain, VALGRIND_MEMPOOL_METAPOOL);
    return 0;
}
