/* Cycles of calls are one frame.
 * @options: --merge-recursive-frames=2 --leak-check=full */
#include <stdlib.h>

static char *odd(int n);
static char *__attribute__((noinline)) even(int n) { return n ? odd(n - 1) : malloc(3); }
static char *__attribute__((noinline)) odd(int n) { return even(n - 1); }
static int __attribute__((noinline)) self(int n, char *p) { return n ? self(n - 1, p) + 1 : p[3]; }

int main(void) {
    char *p = even(6);
    volatile int sum = self(5, p);
    p = 0;
    return 0;
}
