/* Errors without the limit, in a loop of its own code.
 * @options: --error-limit=no --num-callers=500 --leak-check=no */
#include <stdlib.h>

static int __attribute__((noinline)) deep(int n, const char *p) { return n ? deep(n - 1, p) + 1 : p[4]; }

int main(void) {
    char *p = malloc(4);
    volatile int sum = 0;
    for (int i = 0; i < 30; i++)
        sum += deep(i % 3 * 10, p);
    free(p);
    return 0;
}
