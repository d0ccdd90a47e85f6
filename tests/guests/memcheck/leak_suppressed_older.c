/* Leaks of functions that Valgrind 3.19 shows by others are suppressed by entries written for it, and by their names.
 * @options: --leak-check=full -s --suppressions=@DIR@/leak_suppressed_older.supp */
#include <stdlib.h>

static void *volatile given;

__attribute__((noinline)) static void aligned(size_t size) {
    void *p;
    if (posix_memalign(&p, 64, size)) abort();
    given = p;
}
__attribute__((noinline)) static void pages(size_t size) { given = valloc(size); }
__attribute__((noinline)) static void array(size_t size) { given = reallocarray(NULL, 1, size); }
__attribute__((noinline)) static void grown(size_t size) { given = reallocarray(malloc(5), 1, size); }
__attribute__((noinline)) static void other(size_t size) { given = malloc(size); }

int main(void) {
    aligned(10);
    pages(20);
    array(30);
    grown(40);
    other(50);
    given = NULL;
    return 0;
}
