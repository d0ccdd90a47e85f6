/* clang without optimisation: structures by value, bit fields, a switch.  @compiler: clang
 * @build: -gdwarf-4 */
#include <stdlib.h>

struct pair {
    int a, b;
};
struct bits {
    unsigned x : 5, y : 11;
};

static struct pair swap(struct pair p) {
    struct pair r = {p.b, p.a};
    return r;
}
static int choose(int n) {
    switch (n) {
    case 1: return 5;
    case 2: return 6;
    case 3: return 7;
    case 4: return 9;
    case 7: return 1;
    }
    return 0;
}

int main(void) {
    struct pair p, q;
    struct bits b;
    volatile int out = 0;
    p.a = 1;
    q = swap(p);
    if (q.b == 1)
        out++;
    if (q.a == 1) /* undefined */
        out++;
    b.y = 3;
    if (b.y == 3)
        out++;
    if (b.x == 3) /* undefined */
        out++;
    out += choose(q.a); /* undefined */
    int *r = malloc(8);
    out += r[2];
    free(r);
    return 0;
}
