/* A search for new records alone, which 3.19 does not know: it searches as for added ones.
 * @options: --leak-check=full */
#include <stdlib.h>
#include <valgrind/memcheck.h>

static void __attribute__((noinline)) lose(int n) {
    void *volatile p = malloc(n);
    p = 0;
}

int main(void) {
    lose(3);
    VALGRIND_DO_NEW_LEAK_CHECK;
    VALGRIND_DO_NEW_LEAK_CHECK;
    return 0;
}
