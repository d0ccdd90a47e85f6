/* Undefined vector registers through fxsave and xsave, and images that are too short.
 * @build: -O1 -mavx */
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

static char image[4096] __attribute__((aligned(64)));

__attribute__((noipa)) static void xsave(const char *from, char *to, unsigned which) {
    VALGRIND_MAKE_MEM_UNDEFINED(image, sizeof image);
    memset(image + 512, 0, 64);
    __asm__ volatile("vmovdqu (%1), %%ymm3; xorl %%edx, %%edx; xsave (%2); vpxor %%ymm3, %%ymm3, %%ymm3;"
                     "movl %3, %%eax; xrstor (%2); vmovdqu %%ymm3, %0"
                     : "=m"(*(char(*)[32])to)
                     : "r"(from), "r"(image), "r"(which), "a"(which)
                     : "xmm3", "rdx", "memory");
    show("ymm3", to, 32);
    show("xmm2-4", image + 160 + 32, 48);
    show("high2-4", image + 576 + 32, 48);
    show("header", image + 512, 16);
    show("x87", image, 48);
    show("free", image + 408, 24);
}

__attribute__((noipa)) static void fxsave(const char *from, char *to) {
    VALGRIND_MAKE_MEM_UNDEFINED(image, 512);
    __asm__ volatile("movdqu (%1), %%xmm3; fxsave64 (%2); pxor %%xmm3, %%xmm3; fxrstor64 (%2); movdqu %%xmm3, %0"
                     : "=m"(*(char(*)[16])to)
                     : "r"(from), "r"(image)
                     : "xmm3", "memory");
    show("xmm3", to, 16);
    show("xmm2-4", image + 160 + 32, 48);
    show("x87", image, 32);
    show("free", image + 408, 24);
}

int main(void) {
    char *from = malloc(32), to[32];
    memset(from + 8, 1, 12);
    xsave(from, to, 7);
    xsave(from, to, 6);
    fxsave(from, to);
    free(from);
    return 0;
}
