/* A conditional move on an undefined condition.
 * @build: -O2 */
#include <stdlib.h>

static long __attribute__((noinline)) larger(long a, long b) {
    long r = b;
    __asm__("cmpq %1, %2\n\tcmovgq %2, %0" : "+r"(r) : "r"(b), "r"(a) : "cc");
    return r;
}

int main(void) {
    long *p = malloc(sizeof *p);
    volatile long n = larger(*p, 7);
    (void)n;
    free(p);
    return 0;
}
