/* Without debug information, but with symbols.  @build: -g0 -O1 -fno-inline */
#include <stdlib.h>

__attribute__((noinline, noclone)) int inner(int *p) { return p[4] == 2 ? 3 : 4; }
__attribute__((noinline, noclone)) int outer(int *p) { return inner(p) + 1; }
int main(void) {
    int *p = malloc(16);
    volatile int sum = outer(p);
    free(p);
    sum += outer(p - 1);
    return 0;
}
