/* No error: bit fields are set one by one in undefined memory and read back. */
#include <stdlib.h>

struct packed { unsigned a : 1, b : 7, c : 11, d : 13; unsigned long e : 40, f : 24; };

int main(void) {
    struct packed *p = malloc(sizeof *p);
    p->c = 1000;
    p->a = 1;
    p->b = 77;
    p->d = 4000;
    p->f = 12345;
    p->e = 0x1234567890;
    int ok = p->a == 1 && p->b == 77 && p->c == 1000 && p->d == 4000 && p->e == 0x1234567890 && p->f == 12345;
    free(p);
    return !ok;
}
