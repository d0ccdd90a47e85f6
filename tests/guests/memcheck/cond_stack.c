/* Branches on undefined stack variables. */
#include <stdio.h>

static int __attribute__((noinline)) check(int x) {
    if (x > 10)
        return 1;
    return 0;
}

int main(void) {
    int x;
    volatile int *p = &x;
    if (*p == 4)
        puts("");
    return check(*p) * 0;
}
