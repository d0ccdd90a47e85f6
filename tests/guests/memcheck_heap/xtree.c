/* Blocks from several callers, freed, resized, leaked, made known by request; for execution trees. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <valgrind/memcheck.h>

char *keep;
static char arena[100];

static void *__attribute__((noinline)) make(int n) { return malloc(n); }
static void *__attribute__((noinline)) deep(int depth, int n) { return depth ? deep(depth - 1, n) : make(n); }

static void __attribute__((noinline)) like(void) {
    VALGRIND_MALLOCLIKE_BLOCK(arena, 60, 0, 0);
    VALGRIND_FREELIKE_BLOCK(arena, 0);
}

int main(int argc, char **argv) {
    keep = make(10);
    make(20);
    free(deep(3, 30));
    char **p = deep(2, 40);
    p[0] = make(50);
    p = 0;
    for (int i = 0; i < 5; i++) free(make(100 + i));
    keep = realloc(keep, 1000);
    like();
    free(calloc(3, 7));
    free(arena + 1); /* no block: counts for nothing */
    if (argc > 1 && !fork()) {
        make(5000);
        return 0;
    }
    wait(0);
    return 0;
}
