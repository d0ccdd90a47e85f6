/* Of an invalid read that begins or ends in a block, what came from the block is as undefined as it is there; the rest
 * has been told, and counts as defined.
 * @build: -O1 -mavx */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

static void show(const char *name, const void *p, unsigned n) {
    unsigned char v[64] = {0};
    VALGRIND_GET_VBITS(p, v, n);
    fprintf(stderr, "%s ", name);
    for (unsigned i = 0; i < n; i++)
        fprintf(stderr, "%02x", v[i]);
    fprintf(stderr, "\n");
}

#define LOAD(type, instruction, kind, offset)                                                                          \
    do {                                                                                                               \
        type to;                                                                                                       \
        memset(&to, 0, sizeof to);                                                                                     \
        __asm__ volatile(instruction : "=" kind(to) : "r"(p + (offset)) : "xmm7");                                     \
        show(instruction, &to, sizeof to);                                                                             \
    } while (0)

static volatile int count;

int main(void) {
    char *p = malloc(6);
    p[1] = 1;
    LOAD(long, "mov (%1), %0", "r", 2);
    LOAD(long, "mov (%1), %0", "r", -3);
    LOAD(long, "movslq (%1), %0", "r", 4);
    LOAD(int, "movzwl (%1), %0", "r", 5);
    LOAD(__m128i, "movdqu (%1), %0", "x", -6);
    LOAD(__m256i, "vmovdqu (%1), %0", "x", -12);
    LOAD(__m128i, "vpxor %%xmm7, %%xmm7, %%xmm7; vpaddb (%1), %%xmm7, %0", "x", 3);
    LOAD(double, "fldl (%1); fstpl %0", "m", 3);
    LOAD(long, "fildll (%1); fistpll %0", "m", 3);
    long word = 0;
    __asm__ volatile("add (%1), %0" : "+r"(word) : "r"(p + 3));
    if ((int)word) /* its first bytes were the block's */
        count++;
    if (word >> 32) /* and these were not */
        count++;
    free(p);
    return 0;
}
