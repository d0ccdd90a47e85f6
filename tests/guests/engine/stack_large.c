/* A frame of a megabyte, deep recursion, alloca, 128 bytes below the stack pointer. */
#include <alloca.h>
#include <stdio.h>
#include <string.h>
static long deep(long n) {
    char pad[200];
    memset(pad, (int)n, sizeof pad);
    return n == 0 ? 0 : deep(n - 1) + pad[n % 200];
}
static int large(void) {
    volatile char big[1 << 20];
    big[0] = 1;
    big[sizeof big - 1] = 2;
    return big[0] + big[sizeof big - 1];
}
static int leaf(int a, int b) {
    volatile int t[20];
    for (int i = 0; i < 20; i++) t[i] = a * i + b;
    return t[7] + t[19];
}
int main(void) {
    printf("%ld %d %d\n", deep(20000), large(), leaf(3, 4));
    long s = 0;
    for (int i = 1; i < 300; i++) {
        char *p = alloca(i * 10);
        memset(p, i, i * 10);
        s += p[i];
    }
    printf("%ld\n", s);
    return 0;
}
