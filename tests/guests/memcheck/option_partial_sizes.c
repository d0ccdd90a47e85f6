/* The same with --partial-loads-ok=no: each is an error.
 * @options: --partial-loads-ok=no */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

static void show(const char *name, const void *p, unsigned n) {
    unsigned char v[16] = {0};
    VALGRIND_GET_VBITS(p, v, n);
    fprintf(stderr, " %s ", name);
    for (unsigned i = 0; i < n; i++)
        fprintf(stderr, "%02x", v[i]);
}

__attribute__((noinline)) static void eight(const char *p) {
    uint64_t x;
    __asm__ volatile("movq (%1), %0" : "=r"(x) : "r"(p));
    show("8", &x, 8);
}

__attribute__((noinline)) static void four(const char *p) {
    uint32_t x;
    __asm__ volatile("movl (%1), %0" : "=r"(x) : "r"(p));
    show("4", &x, 4);
}

__attribute__((noinline)) static void two(const char *p) {
    uint16_t x;
    __asm__ volatile("movw (%1), %0" : "=r"(x) : "r"(p));
    show("2", &x, 2);
}

__attribute__((noinline)) static void sixteen(const char *p) {
    char x[16] __attribute__((aligned(16)));
    __asm__ volatile("movdqa (%1), %%xmm1; movdqa %%xmm1, %0" : "=m"(x) : "r"(p) : "xmm1");
    show("16", x, 16);
}

__attribute__((noinline)) static void added(const char *p) {
    uint32_t x = 0;
    __asm__ volatile("addl (%1), %0" : "+r"(x) : "r"(p));
    show("add", &x, 4);
}

int main(void) {
    for (int size = 1; size < 16; size++) {
        char *p = malloc(size);
        memset(p, 1, size);
        fprintf(stderr, "%d:", size);
        if (size & 7)
            eight(p + (size & ~7));
        if (size & 3)
            four(p + (size & ~3)), added(p + (size & ~3));
        sixteen(p);
        if (size & 1)
            two(p + (size & ~1)); /* too short to be excused */
        fprintf(stderr, "\n");
        free(p);
    }
    char *p = malloc(6);
    memset(p, 1, 6);
    four(p + 3); /* not aligned */
    fprintf(stderr, "\n");
    free(p);
    return 0;
}
