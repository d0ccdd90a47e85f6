/* Linked by lld, one page for each part.  @build: -fuse-ld=lld -Wl,-z,separate-loadable-segments */
#include <stdlib.h>

static int zero[10];
static int *const table[] = {&zero[1], &zero[2], &zero[9]};
int main(void) {
    char *p = malloc(3);
    p[3] = (char)*table[1];
    if (p[1])
        ++*table[0];
    free(p);
    return p[0] & 0;
}
