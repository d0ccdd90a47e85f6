/* AddressSanitizer: a store beyond a heap block. */
// sanitize: address
#include <stdlib.h>

int main(int argc, char **argv) {
    volatile char *block = malloc(10);
    block[9 + argc] = argv[0][0];
    free((void *)block);
    return 0;
}
