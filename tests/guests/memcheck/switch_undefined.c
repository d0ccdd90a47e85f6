/* A switch with a jump table over an undefined value. */
#include <stdlib.h>

static int __attribute__((noinline)) name(int k) {
    switch (k) {
    case 0: return 11;
    case 1: return 25;
    case 2: return 31;
    case 3: return 48;
    case 4: return 53;
    case 5: return 67;
    default: return 0;
    }
}

int main(void) {
    int *p = malloc(sizeof *p);
    volatile int n = name(*p);
    (void)n;
    free(p);
    return 0;
}
