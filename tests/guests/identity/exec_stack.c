/* A nested function whose address is taken needs code on an executable stack. */
#include <stdio.h>
static int apply(int (*f)(int), int n) { return n ? f(n) + apply(f, n - 1) : 0; }
int main(void) {
    volatile int base = 3;
    int add(int x) { return x + base; }
    for (int i = 0; i < 3; i++) {
        base = i;
        printf("%d\n", apply(add, 10));
    }
    return 0;
}
