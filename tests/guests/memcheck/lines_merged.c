/* Instructions of no line in particular: what an optimiser has merged from several is of line 0 of the file.
 * @compiler: clang
 * @build: -gdwarf-4 -O1 */
#include <stdlib.h>

static volatile int turns = 1;

static inline __attribute__((always_inline)) void store(char *at, int value) {
    if (value == 77)
        turns++, *(volatile int *)at = value;
    else
        turns += 3, *(volatile int *)at = value;
}

__attribute__((noinline)) static void outer(char *at, int value) {
    turns += value;
    store(at, value);
    turns++;
}

__attribute__((noinline)) static void direct(char *at, int value) {
    if (value == 77)
        turns++, *(volatile int *)at = value;
    else
        turns += 3, *(volatile int *)at = value;
    turns++;
}

int main(void) {
    char *block = malloc(3);
    outer(block, turns);
    direct(block, turns);
    free(block);
    return 0;
}
