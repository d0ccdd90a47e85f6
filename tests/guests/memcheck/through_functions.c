/* An undefined value passes through functions, memory and arithmetic before it decides something. */
#include <stdlib.h>
#include <string.h>

struct big { int v[30]; };

static int __attribute__((noinline)) half(int x) { return x / 2; }
static struct big __attribute__((noinline)) wrap(int x) {
    struct big b = {{0}};
    b.v[20] = x;
    return b;
}
static int __attribute__((noinline)) decide(struct big b) { return b.v[20] * 3 - 1 > 100; }

int main(void) {
    int *p = malloc(sizeof *p), n = 0;
    struct big b = wrap(half(*p)), c;
    memcpy(&c, &b, sizeof c);
    if (c.v[19])
        n++;
    if (decide(c))
        n += 0;
    free(p);
    return n;
}
