/* A large block that the program says to be longer than its place (Valgrind dies of its realloc): what lies in the next
 * one stays there. */
#include <stdlib.h>
#include "interpose/memcheck.h"

#define SIZE (6ul << 20)

static unsigned char byte_of(size_t i) { return (unsigned char)(i * 7 + (i >> 12)); }

static unsigned char *filled(void) {
    unsigned char *block = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) block[i] = byte_of(i);
    return block;
}

static int is_whole(const unsigned char *block) {
    int whole = 1;
    for (size_t i = 0; i < SIZE; i++) whole &= block[i] == byte_of(i);
    return whole;
}

int main(void) {
    unsigned char *one = filled(), *other = filled();
    unsigned char *low = one < other ? one : other, *high = one < other ? other : one;
    VALGRIND_RESIZEINPLACE_BLOCK(low, SIZE, high + 2 * SIZE / 3 - low, 0);
    VALGRIND_MAKE_MEM_DEFINED(low, high + SIZE - low);
    low = realloc(low, 3 * SIZE);
    VALGRIND_MAKE_MEM_DEFINED(high, SIZE); /* it went with the other one */
    int wrong = !is_whole(low) || !is_whole(high);
    free(low);
    free(high);
    return wrong;
}
