/* One of three bit fields was not set. */
#include <stdlib.h>

struct flags { unsigned a : 3, b : 4, c : 9; };

int main(void) {
    struct flags *f = malloc(sizeof *f);
    f->a = 2;
    f->c = 100;
    int n = 0;
    if (f->a == 2)
        n++;
    if (f->c == 100)
        n++;
    if (f->b == 5)
        n += 0;
    free(f);
    return n - 2;
}
