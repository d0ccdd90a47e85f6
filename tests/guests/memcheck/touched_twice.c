/* The same freed words are touched twice in straight lines: each access is an error of its own. */
#include <stdlib.h>

__attribute__((noinline)) static long read_twice(volatile long *p) {
    long sum = p[1];
    sum += p[1];
    return sum;
}

__attribute__((noinline)) static void write_and_read(volatile long *p, long value) {
    p[2] = value;
    p[2] = p[2] + 1;
}

/* What was marked on the stack, and taken back by a call in between, is looked at again. */
__attribute__((noinline)) static long keep(volatile long *p) {
    volatile long local = p[0];
    long sum = local + local;
    local = sum;
    return local + p[0];
}

int main(void) {
    volatile long *p = calloc(4, sizeof *p);
    long sum = keep(p);
    free((void *)p);
    sum += read_twice(p);
    write_and_read(p, sum);
    return sum == 42;
}
