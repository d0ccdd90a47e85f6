/* A memory pool through its life, and each request with an address that is no pool's or no chunk's.
 * @options: --leak-check=full --show-leak-kinds=all */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <valgrind/memcheck.h>

static volatile char sink;
static char *arena;
static struct pool {
    int x;
} pool, other, third;

static char *__attribute__((noinline)) take(void *from, long offset, long n) {
    VALGRIND_MEMPOOL_ALLOC(from, arena + offset, n);
    return arena + offset;
}

static void unknown(char *chunk) {
    VALGRIND_MEMPOOL_FREE(&pool, chunk + 1);
    VALGRIND_MEMPOOL_CHANGE(&pool, chunk + 1, chunk, 10);
    VALGRIND_MEMPOOL_FREE(&other, chunk);
    VALGRIND_MEMPOOL_ALLOC(&other, arena + 1000, 10);
    VALGRIND_DESTROY_MEMPOOL(&other);
    VALGRIND_MEMPOOL_TRIM(&other, arena, 100);
    VALGRIND_MOVE_MEMPOOL(&other, &pool);
    VALGRIND_MEMPOOL_CHANGE(&other, chunk, chunk, 10);
}

static void trimmed(void) {
    VALGRIND_CREATE_MEMPOOL(&third, 4, 0);
    take(&third, 2000, 100), take(&third, 2500, 100), take(&third, 4000, 100), take(&third, 2200, 100);
    take(&third, 1000, 0);
    memset(arena + 2000, 1, 100);
    VALGRIND_MEMPOOL_TRIM(&third, arena + 2000, 550); /* one chunk loses its end, one goes, two stay */
    sink = arena[2099], sink = arena[2100];
    sink = arena[2549], sink = arena[2550], sink = arena[2554];
    sink = arena[4000];
    VALGRIND_MEMPOOL_FREE(&third, arena + 4000);
    VALGRIND_MEMPOOL_FREE(&third, arena + 2500);
    VALGRIND_MEMPOOL_TRIM(&third, arena + 2020, 10); /* within a chunk: it goes */
    sink = arena[2021];
    VALGRIND_DESTROY_MEMPOOL(&third);
    sink = arena[2200];
}

static void changed(void) {
    VALGRIND_CREATE_MEMPOOL(&third, 4, 1);
    take(&third, 6000, 100);
    VALGRIND_MEMPOOL_CHANGE(&third, arena + 6000, arena + 6000, 150);
    sink = arena[6100];
    VALGRIND_MEMPOOL_CHANGE(&third, arena + 6000, arena + 6200, 50);
    sink = arena[6010];
    VALGRIND_MEMPOOL_FREE(&third, arena + 6000);
    VALGRIND_MEMPOOL_FREE(&third, arena + 6200);
    sink = arena[6210];
}

int main(void) {
    arena = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    VALGRIND_MAKE_MEM_NOACCESS(arena, 65536);
    printf("%d ", (int)VALGRIND_MEMPOOL_EXISTS(&pool));
    VALGRIND_CREATE_MEMPOOL(&pool, 8, 0);
    char *p = take(&pool, 64, 20), *q = take(&pool, 128, 40);
    sink = p[20], sink = p[27], sink = p[28], sink = p[-1], sink = p[-8], sink = p[-9];
    if (p[2]) sink = 2;
    VALGRIND_MEMPOOL_FREE(&pool, p);
    sink = p[2];
    VALGRIND_MEMPOOL_FREE(&pool, p);
    unknown(q);
    VALGRIND_MOVE_MEMPOOL(&pool, &other);
    printf("%d %d\n", (int)VALGRIND_MEMPOOL_EXISTS(&pool), (int)VALGRIND_MEMPOOL_EXISTS(&other));
    VALGRIND_MEMPOOL_FREE(&other, q);
    sink = q[6];
    take(&pool, 256, 50);
    VALGRIND_DESTROY_MEMPOOL(&other);
    trimmed();
    changed();
    return 0;
}
