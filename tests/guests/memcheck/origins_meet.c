/* Where undefined values of several origins meet, the newest is named, whatever the order.
 * @options: --track-origins=yes */
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

static volatile int reached;

__attribute__((noinline)) static void tested(int x) {
    if (x)
        reached++;
}

__attribute__((noinline)) static void tested_long(long x) {
    if (x)
        reached++;
}

__attribute__((noinline)) static int *first(void) { return malloc(16); }
__attribute__((noinline)) static int *second(void) { return malloc(16); }

__attribute__((noinline)) static int *requested(void) {
    int *p = calloc(4, 4);
    VALGRIND_MAKE_MEM_UNDEFINED(p, 16);
    return p;
}

__attribute__((noinline)) static void with_local(const int *p, int order) {
    int local[4];
    volatile int *l = local;
    tested(order ? l[1] + *p : *p + l[1]);
}

int main(void) {
    int *a = first(), *b = second(), *c;
    int pair[2];
    long word;
    double *x, *y, sum;
    tested(a[0] + b[0]);
    tested(b[0] + a[0]);
    with_local(a, 0);
    with_local(a, 1);
    c = requested();
    tested(c[0] + a[0]);
    tested(a[0] + c[0]);
    with_local(c, 0);
    with_local(c, 1);
    /* Loaded at once. */
    memcpy(&word, a, 4);
    memcpy((char *)&word + 4, c, 4);
    tested_long(word);
    memcpy(&word, c, 4);
    memcpy((char *)&word + 4, a, 4);
    tested_long(word);
    /* In vector and x87 registers. */
    x = malloc(sizeof *x);
    y = malloc(sizeof *y);
    sum = *x + *y;
    if (sum > 1)
        reached++;
    sum = *y * *x;
    if (sum > 1)
        reached++;
    sum = (double)((long double)*x + (long double)*y);
    if (sum > 1)
        reached++;
    free(a), free(b), free(c), free(x), free(y);
    return reached == 100;
}
