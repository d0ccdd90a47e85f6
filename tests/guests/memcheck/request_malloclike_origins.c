/* Where undefined values come from in a block that holds others, which come and go, and are many; a block that holds
 * none any more, or is given back while it does.
 * @options: --track-origins=yes */
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

static volatile int reached;

__attribute__((noinline)) static void tested(int x) {
    if (x) reached++;
}

__attribute__((noinline)) static void declare(char *at, int size) { VALGRIND_MALLOCLIKE_BLOCK(at, size, 0, 0); }

__attribute__((noinline)) static void withdraw(char *at) { VALGRIND_FREELIKE_BLOCK(at, 0); }

__attribute__((noinline)) static int *outer(int size) { return malloc((size_t)size); }

int main(void) {
    int *whole = outer(400), *other = outer(400);
    tested(whole[90]);
    declare((char *)(whole + 10), 40);
    tested(whole[12]); /* the inner one's */
    tested(whole[80]);
    tested(other[12]);
    withdraw((char *)(whole + 10));
    VALGRIND_MAKE_MEM_UNDEFINED(whole, 400);
    tested(whole[13]);

    char *slab = (char *)outer(8192);
    for (int i = 0; i < 300; i++) declare(slab + 16 * i, 16);
    tested(*(int *)(slab + 16 * 299));
    for (int i = 0; i < 299; i++) withdraw(slab + 16 * i);
    tested(*(int *)(slab + 16 * 299 + 4));
    tested(*(int *)(slab + 16 * 299 + 16));
    withdraw(slab + 16 * 299);

    declare((char *)other, 8);
    tested(other[1]);
    withdraw((char *)other);
    free(other);

    int pool;
    VALGRIND_CREATE_MEMPOOL_EXT(&pool, 0, 0, VALGRIND_MEMPOOL_METAPOOL);
    VALGRIND_MEMPOOL_ALLOC(&pool, slab + 4096, 4096);
    declare(slab + 5000, 40);
    tested(*(int *)(slab + 5004)); /* that of the block in the pool's chunk */
    tested(*(int *)(slab + 5040));
    VALGRIND_DESTROY_MEMPOOL(&pool);
    declare(slab + 6000, 40);
    VALGRIND_RESIZEINPLACE_BLOCK(slab + 6000, 40, 80, 0);
    tested(*(int *)(slab + 6036));
    tested(*(int *)(slab + 6040)); /* the request's that made it longer */
    int copy = *(int *)(slab + 6076);
    tested(copy);
    VALGRIND_RESIZEINPLACE_BLOCK(slab + 6000, 80, 20, 0);
    VALGRIND_RESIZEINPLACE_BLOCK(slab + 6000, 20, 60, 0); /* and by another one */
    tested(*(int *)(slab + 6016));
    tested(*(int *)(slab + 6036));
    withdraw(slab + 6000);
    declare(slab + 6000, 80); /* nothing of that is left */
    tested(*(int *)(slab + 6040));
    withdraw(slab + 6000);

    int chunks, *chunk = (int *)(slab + 7000); /* a pool's, given again: nor of what was copied there */
    VALGRIND_CREATE_MEMPOOL(&chunks, 0, 0);
    VALGRIND_MEMPOOL_ALLOC(&chunks, chunk, 64);
    memcpy(chunk, whole, 32);
    tested(chunk[3]);
    VALGRIND_MEMPOOL_FREE(&chunks, chunk);
    VALGRIND_MEMPOOL_ALLOC(&chunks, chunk, 64);
    tested(chunk[3]);
    VALGRIND_DESTROY_MEMPOOL(&chunks);
    free(slab);
    free(whole);
    return 0;
}
