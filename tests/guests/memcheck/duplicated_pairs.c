/* vmovddup of 32 bytes uses the first and the third eight of them, but the CPU fetches all: where the last eight are on a
 * page that is not there, it faults. What it does not use may be undefined.
 * @build: -O1 -mavx
 * @options: -q --leak-check=no */
#include <stdlib.h>

static double pairs[4];
static int undefined;

__attribute__((noinline)) static void duplicate(const double *p) {
    __asm__ volatile("vmovddup (%1), %%ymm0\n\t"
                     "vmovupd %%ymm0, %0\n\t"
                     "vzeroupper"
                     : "=m"(pairs)
                     : "r"(p)
                     : "xmm0", "memory");
}

int main(void) {
    double *p = malloc(32);
    p[0] = 1;
    p[2] = 2;
    duplicate(p); /* the second and the fourth were never written, nor are they used */
    if (pairs[1] != 1 || pairs[3] != 2)
        return 1;
    p[0] = p[1];
    duplicate(p);
    if (pairs[3] != 2)
        return 2;
    if (pairs[1] == 1) /* undefined */
        undefined++;
    double *q = malloc(24);
    q[0] = 3;
    q[2] = 4;
    duplicate(q); /* all that is used is there, and its last eight bytes are not */
    if (pairs[1] != 3 || pairs[3] != 4)
        return 3;
    return 0;
}
