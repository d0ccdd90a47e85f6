/* Paths: undefined characters, and one without an end inside its block. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void) {
    char *p = malloc(8), *q = malloc(4);
    memcpy(p, "/a/b/c", 7);
    p[7] = 0;
    char *undefined = malloc(1);
    p[4] = (char)(*undefined & 0x20) | 'A';
    memcpy(q, "/x/y", 4);
    int r = open(p, O_RDONLY) >= 0;
    r += access(q, R_OK) == 0;
    free(p);
    free(q);
    free(undefined);
    return r;
}
