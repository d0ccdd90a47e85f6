/* An optimising clang: selects, bit tests, vectors made of scalars.  @compiler: clang
 * @build: -gdwarf-4 -O2 -fno-inline-functions */
#include <stdlib.h>
#include <string.h>

struct item {
    int key;
    char used, flag;
    short rest;
};

__attribute__((noinline)) static int pick(const struct item *p, int n) {
    int best = 0;
    for (int i = 0; i < n; i++)
        best += p[i].used ? p[i].key : 1;
    return best;
}
__attribute__((noinline)) static long sum(const long *p, int n) {
    long s = 0;
    for (int i = 0; i < n; i++)
        s += p[i];
    return s;
}

int main(void) {
    struct item *p = malloc(4 * sizeof *p);
    volatile int out = 0;
    memset(p, 1, 3 * sizeof *p);
    if (pick(p, 3) == 7)
        out++;
    if (pick(p, 4) == 7) /* the fourth is undefined */
        out++;
    long *q = calloc(16, sizeof *q);
    q[3] = (long)p[3].key;
    if (sum(q, 3))
        out++;
    if (sum(q, 16) == 7) /* one of them */
        out++;
    free(p);
    out += pick(p, 1);
    free(q);
    return 0;
}
