/* A large block is made larger as soon as somebody says so: 0: with what was in it, 6: there is no memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ul << 20)

int main(void) {
    char *block = malloc(4 * MIB);
    if (!block) return 2;
    memset(block, 5, 4 * MIB);
    puts("ready");
    fflush(stdout);
    getchar();
    char *larger = realloc(block, 5 * MIB);
    if (!larger) return 6;
    for (size_t i = 0; i < 4 * MIB; i++)
        if (larger[i] != 5) return 7;
    memset(larger, 6, 5 * MIB);
    return 0;
}
