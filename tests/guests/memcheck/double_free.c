/* A block released twice: invalid free with the stacks of its release and allocation. */
#include <stdlib.h>

static void release(char *p) { free(p); }

int main(void) {
    char *p = malloc(33);
    release(p);
    free(p);
    return 0;
}
