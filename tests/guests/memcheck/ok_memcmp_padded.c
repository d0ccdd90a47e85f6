/* No error: structures with padding cleared first are compared whole. */
#include <stdlib.h>
#include <string.h>

struct key { char kind; int id; short sub; };

int main(void) {
    struct key a, *b = malloc(sizeof *b);
    memset(&a, 0, sizeof a);
    memset(b, 0, sizeof *b);
    a.kind = b->kind = 1;
    a.id = b->id = 44;
    a.sub = b->sub = 3;
    int differs = memcmp(&a, b, sizeof a);
    free(b);
    return differs != 0;
}
