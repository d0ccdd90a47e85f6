/* A field of a structure that was not set; the other one was. */
#include <stdlib.h>

struct pair { int a, b; };

static int __attribute__((noinline)) either(const struct pair *p) { return p->a ? 1 : p->b ? 2 : 3; }

int main(void) {
    struct pair *p = malloc(sizeof *p);
    p->a = 0;
    int n = either(p);
    free(p);
    return n == 17;
}
