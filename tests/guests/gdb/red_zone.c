/* A function that keeps a local in its red zone, and one for gdb to call from there. */
#include <stdio.h>

int table[8];

int helper(int x) {
    volatile int here[16];
    for (int i = 0; i < 16; i++) here[i] = x;
    return here[5] + 1;
}

int leaf(int x) {
    table[x & 7]++;
    return x + 1;
}

int main(void) {
    printf("%d\n", leaf(3));
    return 0;
}
