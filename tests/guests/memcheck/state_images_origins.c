/* Each register has its own origin in the images of fxsave, xsave and fnsave, and after fxrstor and xrstor.
 *
 * @options: --track-origins=yes
 * @build: -O1 -mavx
 */
#include <stdlib.h>
#include <string.h>

static char image[4096] __attribute__((aligned(64)));
static volatile int sink;

#define NOIPA __attribute__((noipa))

NOIPA static void *one(void) { return malloc(32); }
NOIPA static void *other(void) { return malloc(32); }

NOIPA static void test(const void *p) {
    if (*(const volatile long *)p == 1) sink++;
}

NOIPA static void fxsave(const void *a, const void *b) {
    long x, y;
    __asm__ volatile("movdqu (%2), %%xmm3; movdqu (%3), %%xmm4; fxsave64 (%4);"
                     "pxor %%xmm3, %%xmm3; pxor %%xmm4, %%xmm4; fxrstor64 (%4); movq %%xmm3, %0; movq %%xmm4, %1"
                     : "=m"(x), "=m"(y)
                     : "r"(a), "r"(b), "r"(image)
                     : "xmm3", "xmm4", "memory");
    test(&x);
    test(&y);
    test(image + 160 + 48);
    test(image + 160 + 64);
}

NOIPA static void xsave(const void *a, const void *b) {
    char x[32], y[32];
    __asm__ volatile("vmovdqu (%2), %%ymm3; vmovdqu (%3), %%ymm4; xsave (%4);"
                     "vpxor %%ymm3, %%ymm3, %%ymm3; vpxor %%ymm4, %%ymm4, %%ymm4; xrstor (%4);"
                     "vmovdqu %%ymm3, %0; vmovdqu %%ymm4, %1"
                     : "=m"(x), "=m"(y)
                     : "r"(a), "r"(b), "r"(image), "a"(7), "d"(0)
                     : "xmm3", "xmm4", "memory");
    test(x);
    test(y + 16);
    test(image + 160 + 48);
    test(image + 576 + 64);
}

/* Of an image of the x87 state Valgrind has one origin: that of the newer. */
NOIPA static void fnsave(const double *a, const double *b) {
    __asm__ volatile("fldl (%0); fldl (%1); fnsave (%2)" : : "r"(a), "r"(b), "r"(image) : "memory");
    test(image + 28);
}

int main(void) {
    void *a = one(), *b = other();
    fxsave(a, b);
    memset(image, 0, sizeof image);
    xsave(a, b);
    memset(image, 0, sizeof image);
    fnsave(a, b);
    free(a);
    free(b);
    return 0;
}
