/* No error: structures with undefined parts are copied by vector moves.
 * @build: -O2 -mavx2 */
#include <stdlib.h>

struct mixed { int a; char b; long c; char d[21]; float e; short f; long g[6]; };

static void __attribute__((noinline)) copy(struct mixed *to, const struct mixed *from) { *to = *from; }

int main(void) {
    struct mixed *p = malloc(sizeof *p), *q = malloc(sizeof *q);
    p->a = 1;
    p->c = 3;
    p->e = 2.5f;
    p->g[5] = 9;
    copy(q, p);
    int ok = q->a == 1 && q->c == 3 && q->e == 2.5f && q->g[5] == 9;
    free(p);
    free(q);
    return !ok;
}
