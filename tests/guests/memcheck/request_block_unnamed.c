/* CREATE_BLOCK without a name, and with an empty one. */
#include <stdlib.h>
#include <valgrind/memcheck.h>

int main(void) {
    volatile int sum = 0;
    const char *names[] = {NULL, ""};
    for (int i = 0; i < 2; i++) {
        char *block = calloc(1, 50);
        VALGRIND_CREATE_BLOCK(block, 50, names[i]);
        VALGRIND_MAKE_MEM_NOACCESS(block, 50);
        sum += block[3];
    }
    return 0;
}
