/* A copy to where it comes from looks at nothing; that it overlaps is told where it always is. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int main(void) {
    char *p = malloc(10);
    void *(*volatile copy)(void *, const void *, size_t) = memcpy;
    void *(*volatile move)(void *, const void *, size_t) = memmove;
    copy(p, p, 13);
    move(p, p, 13);
    move(p - 1, p - 1, 300);
    mempcpy(p, p, 13);
    bcopy(p, p, 13);
    move(p, p, 10);
    return p[1] ? 1 : 0; /* still undefined */
}
