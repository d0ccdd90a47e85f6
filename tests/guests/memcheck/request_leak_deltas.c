/* Searches one after the other: all, new, changed, added; counts of bytes and blocks.
 * @options: --leak-check=full --show-leak-kinds=all */
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/memcheck.h>

static void *kept[10];
static void __attribute__((noinline)) lose(int n) {
    void *volatile p = malloc(n);
    p = 0;
}
static void counts(void) {
    unsigned long a = 9, b = 9, c = 9, d = 9;
    VALGRIND_COUNT_LEAKS(a, b, c, d);
    fprintf(stdout, "%lu %lu %lu", a, b, d);
    VALGRIND_COUNT_LEAK_BLOCKS(a, b, c, d);
    fprintf(stdout, " %lu %lu %lu\n", a, b, d);
}

int main(void) {
    setvbuf(stdout, 0, _IONBF, 0);
    counts();
    kept[0] = malloc(5);
    lose(10);
    VALGRIND_DO_LEAK_CHECK;
    counts();
    lose(10);
    kept[1] = malloc(6);
    VALGRIND_DO_ADDED_LEAK_CHECK;
    free(kept[0]);
    VALGRIND_DO_CHANGED_LEAK_CHECK;
    VALGRIND_DO_QUICK_LEAK_CHECK;
    counts();
    return 0;
}
