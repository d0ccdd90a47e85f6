/* --track-origins=yes: undefined values from the heap and from the stack.
 * @options: --track-origins=yes */
#include <stdlib.h>

static int __attribute__((noinline)) decide(int x) { return x > 3 ? 1 : 2; }

static int __attribute__((noinline)) local(void) {
    int v[4];
    volatile int *p = v;
    return decide(p[2]);
}

int main(void) {
    int *p = malloc(8);
    int n = decide(p[1]);
    n += local();
    free(p);
    return n * 0;
}
