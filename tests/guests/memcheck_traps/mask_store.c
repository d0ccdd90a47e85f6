/* maskmovdqu and maskmovq define the bytes that they store, and no others. */
/* @expect: Conditional jump or move depends on uninitialised value(s) at main
 * @expect: Invalid write of size 8 at main
 * @expect: Invalid write of size 1 at main */
#include <emmintrin.h>
#include <stdio.h>
#include <stdlib.h>

#define MOVE(to, data, mask) __asm__ volatile("maskmovdqu %1, %0" : : "x"(data), "x"(mask), "D"(to) : "memory")

int main(void) {
    char *p = malloc(32);
    __m128i data = _mm_set1_epi8(3), all = _mm_set1_epi8(-1), third = _mm_setr_epi8(0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    MOVE(p, data, all);
    if (p[0] == 3 && p[15] == 3) puts("all");
    MOVE(p + 16, data, third);
    if (p[19] == 3) puts("one");
    if (p[18] == 9) puts("undefined");
    char *q = malloc(16);
    MOVE(q + 8, data, all);
    MOVE(q + 13, data, third);
    long eight = 0x0404040404040404, mask = -1;
    __asm__ volatile("movq %0, %%mm0; movq %1, %%mm1; maskmovq %%mm1, %%mm0; emms" : : "m"(eight), "m"(mask), "D"(q) : "memory", "mm0", "mm1");
    if (q[7] == 4) puts("eight");
    free(q);
    free(p);
    return 0;
}
