#include <stdlib.h>

int read_freed(void) {
    int *freed = malloc(sizeof *freed);
    free(freed);
    return *(volatile int *)freed;
}
