/* free() of a stack variable, a global, a pointer into a block and a number. */
#include <stdlib.h>

static char global[64];

static void __attribute__((noinline)) release(void *p) { free(p); }

int main(void) {
    char local[64];
    char *p = malloc(50);
    release(local);
    release(global + 8);
    release(p + 7);
    release((void *)0x1230);
    free(NULL);
    free(p);
    return 0;
}
