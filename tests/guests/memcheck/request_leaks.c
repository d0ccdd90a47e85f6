/* DO_LEAK_CHECK, its added and changed forms, and COUNT_LEAKS.
 * @options: --leak-check=full */
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/memcheck.h>

static void *kept;

static void __attribute__((noinline)) lose(size_t n) {
    volatile char *p = malloc(n);
    p[0] = 1;
}

int main(void) {
    unsigned long leaked = 0, dubious = 0, reachable = 0, suppressed = 0;
    kept = malloc(100);
    lose(10);
    VALGRIND_DO_LEAK_CHECK;
    VALGRIND_COUNT_LEAKS(leaked, dubious, reachable, suppressed);
    fprintf(stdout, "%lu %lu %lu %lu\n", leaked, dubious, reachable, suppressed);
    lose(20);
    VALGRIND_DO_ADDED_LEAK_CHECK;
    VALGRIND_COUNT_LEAK_BLOCKS(leaked, dubious, reachable, suppressed);
    fprintf(stdout, "%lu %lu\n", leaked, dubious);
    free(kept);
    return 0;
}
