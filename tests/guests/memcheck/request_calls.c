/* NON_SIMD_CALL runs a function on the real CPU, where nothing is checked; what it answers is defined. */
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/valgrind.h>

static char *block;
static long none(long tid) { return block[4]; }                      /* no error here */
static long one(long tid, long a) { return a + (block[5] = 1); }
static long two(long tid, long a, long b) { return a * b; }
static long three(long tid, long a, long b, long c) { return a + b + c; }

int main(void) {
    long undefined;
    volatile int sum = 0;
    block = malloc(4);
    VALGRIND_NON_SIMD_CALL0(none);
    long x = VALGRIND_NON_SIMD_CALL1(one, 3);
    long y = VALGRIND_NON_SIMD_CALL2(two, x, 5);
    long z = VALGRIND_NON_SIMD_CALL3(three, 1, 2, undefined);
    fprintf(stdout, "%ld %ld\n", x, y);
    if (z == 1) /* defined: it comes from a request */
        sum++;
    none(0);
    free(block);
    return 0;
}
