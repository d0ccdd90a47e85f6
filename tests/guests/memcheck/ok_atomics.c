/* No error: atomic and string instructions on defined memory, partly defined neighbours.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct cell { uint64_t value; uint64_t unused; };

int main(void) {
    struct cell *c = malloc(sizeof *c);
    uint64_t expected = 5;
    int bad = 0;
    c->value = 5;
    bad += !__atomic_compare_exchange_n(&c->value, &expected, 6, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    bad += __atomic_fetch_add(&c->value, 4, __ATOMIC_SEQ_CST) != 6;
    bad += __atomic_exchange_n(&c->value, 1, __ATOMIC_SEQ_CST) != 10;
    char *from = malloc(100), *to = malloc(100);
    memset(from, 3, 60);
    const char *s = from;
    char *d = to;
    size_t n = 100;
    __asm__ volatile("rep movsb" : "+S"(s), "+D"(d), "+c"(n) : : "memory");
    bad += to[59] != 3;
    n = 60;
    s = from;
    d = to;
    unsigned char same;
    __asm__ volatile("repe cmpsb\n\tsete %0" : "=q"(same), "+S"(s), "+D"(d), "+c"(n) : : "memory", "cc");
    bad += !same;
    free(from);
    free(to);
    free(c);
    return bad;
}
