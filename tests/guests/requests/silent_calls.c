/* NON_SIMD_CALL: nothing is reported inside, a stack trace from there is whole, and what a longjmp has left is over. */
#include <interpose/interpose.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static volatile char *block;
static volatile char sink;
static jmp_buf out;

static long inside(long tid) {
    sink = block[10];
    if (block[0])
        sink = 1;
    return tid;
}
static long shows(long tid) { return VALGRIND_PRINTF_BACKTRACE("thread %ld\n", tid) > 0; }
static long leaves(long tid) { longjmp(out, (int)tid); }
static __attribute__((noinline)) void deeper(int depth) {
    volatile char room[64];
    room[0] = 1;
    if (depth)
        deeper(depth - 1);
    else
        sink = block[12];
    room[1] = 1;
}

int main(void) {
    block = malloc(10);
    long known = (long)VALGRIND_NON_SIMD_CALL0(inside);
    known += (long)VALGRIND_NON_SIMD_CALL0(shows);
    known += (long)VALGRIND_NON_SIMD_CALL0(NULL);
    printf("%ld\n", known);
    sink = block[11];
    if (!setjmp(out))
        (void)VALGRIND_NON_SIMD_CALL0(leaves);
    deeper(0);
    deeper(20);
    free((void *)block);
    return 0;
}
