/* The same error many times is shown once and counted; from another caller it is another one. */
#include <stdlib.h>

static volatile int sink;

static void __attribute__((noinline)) touch(int *p) { sink = p[1]; }
static void __attribute__((noinline)) twice(int *p) {
    touch(p);
    touch(p);
}

int main(void) {
    int *p = malloc(4);
    for (int i = 0; i < 1000; i++)
        touch(p);
    twice(p);
    free(p);
    return 0;
}
