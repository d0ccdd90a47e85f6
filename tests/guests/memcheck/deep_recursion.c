/* An error under many frames: twelve are shown.
 */
#include <stdlib.h>

static volatile int sink;

static int __attribute__((noinline)) down(int n, int *p) {
    if (n == 0)
        return sink = p[1];
    return down(n - 1, p) + 1;
}

int main(void) {
    int *p = malloc(4);
    sink = down(20, p);
    free(p);
    return 0;
}
