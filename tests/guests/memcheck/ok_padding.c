/* No error: structures with padding are copied, passed, returned and compared field by field. */
#include <stdlib.h>
#include <string.h>

struct holes { char c; long l; short s; double d; char t; };

static struct holes __attribute__((noinline)) make(int n) {
    struct holes h;
    h.c = (char)n;
    h.l = n;
    h.s = (short)n;
    h.d = n;
    h.t = 1;
    return h;
}
static int __attribute__((noinline)) same(struct holes a, struct holes b) {
    return a.c == b.c && a.l == b.l && a.s == b.s && a.d == b.d && a.t == b.t;
}

int main(void) {
    struct holes a = make(3), *b = malloc(sizeof *b), c[4];
    memcpy(b, &a, sizeof a);
    c[2] = *b;
    memmove(&c[1], &c[2], sizeof a);
    int ok = same(a, *b) && same(c[1], make(3)) && !same(c[1], make(4));
    free(b);
    return !ok;
}
