/* Linked by gold, without a build id, position-dependent.  @build: -fuse-ld=gold -no-pie -Wl,--build-id=none */
#include <stdlib.h>

static int zero[10];
int main(void) {
    char *p = malloc(3);
    p[3] = (char)zero[2];
    if (p[1])
        zero[1]++;
    free(p);
    return p[0] & 0;
}
