/* Calls functions of the C library that have several names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    free(malloc(argc));
    printf("%zu %d\n", strlen(argv[0]), strchr(argv[0], '/') != NULL);
    return 0;
}
