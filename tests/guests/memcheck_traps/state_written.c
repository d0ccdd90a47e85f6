/* What xsave, xsavec, xsaveopt and fxsave do not write (parts that nobody asks for, the initial state, what is free)
 * stays undefined; what they write is told by the CPU: it no longer depends on what was there.
 * @build: -O1 */
#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

enum { HEADER = 512, AVX = 576, SIZE = 4096, NOT_HERE = 77 };
enum { XSAVE, XSAVEC, XSAVEOPT, FXSAVE };
static const char *const names[] = {"xsave", "xsavec", "xsaveopt", "fxsave"};
static unsigned char one[SIZE] __attribute__((aligned(64))), other[SIZE] __attribute__((aligned(64))), bits[SIZE];

enum { USED, INITIAL, LOADED, FLAGS, STATES };
static const char *const states[] = {"", ", in its initial state,", ", zero and loaded,", ", zero with a flag in MXCSR,"};
static const double zero[4];

/* With all of the state in use, or none of it, or nothing but a register that 0 was loaded into, or an exception's flag. */
static void save(unsigned char *image, int how, unsigned mask, int state) {
    unsigned flags = 0x1fa0, usual = 0x1f80;
    __asm__ volatile("vzeroall; fninit");
    if (state == USED)
        __asm__ volatile("vpcmpeqd %%ymm1, %%ymm1, %%ymm1; fld1; fstp %%st(0)" ::: "xmm1");
    else if (state == LOADED)
        __asm__ volatile("vmovupd %0, %%ymm1" ::"m"(zero) : "xmm1");
    else if (state == FLAGS)
        __asm__ volatile("ldmxcsr %0" ::"m"(flags));
    switch (how) {
    case XSAVE: __asm__ volatile("xsave (%0)" ::"r"(image), "a"(mask), "d"(0) : "memory"); break;
    case XSAVEC: __asm__ volatile("xsavec (%0)" ::"r"(image), "a"(mask), "d"(0) : "memory"); break;
    case XSAVEOPT: __asm__ volatile("xsaveopt (%0)" ::"r"(image), "a"(mask), "d"(0) : "memory"); break;
    default: __asm__ volatile("fxsave (%0)" ::"r"(image) : "memory"); break;
    }
    __asm__ volatile("vzeroall; fninit; ldmxcsr %0" ::"m"(usual) : "xmm1");
}

int main(void) {
    unsigned a = 0, b, c, d, wrong = 0, again = 0;
    if (!__get_cpuid_count(13, 1, &a, &b, &c, &d) || (a & 7) != 7) return NOT_HERE; /* xsaveopt, xsavec, xgetbv */
    for (int how = XSAVE; how <= FXSAVE; how++)
        for (unsigned mask = 0; mask < 8; mask++)
            for (int state = USED; state < STATES; state++) {
                memset(one, 0x33, SIZE);
                memset(other, 0xcc, SIZE);
                memset(one + HEADER, 0, AVX - HEADER);
                memset(other + HEADER, 0, AVX - HEADER);
                VALGRIND_MAKE_MEM_UNDEFINED(one, HEADER);
                VALGRIND_MAKE_MEM_UNDEFINED(one + HEADER, mask & 1 ? 8 : 0);
                VALGRIND_MAKE_MEM_UNDEFINED(one + AVX, SIZE - AVX);
                save(one, how, mask, state);
                save(other, how, mask, state);
                if (!VALGRIND_GET_VBITS(one, bits, SIZE)) continue;
                VALGRIND_MAKE_MEM_DEFINED(one, SIZE);
                if (one[HEADER] != other[HEADER] && again++ < 100) { /* another process had the CPU in between */
                    state--;
                    continue;
                }
                for (int i = 0; i < SIZE; i++) {
                    unsigned char expected = one[i] == other[i] ? 0 : 0xff;
                    if (i == HEADER && (mask & 1)) expected = how == XSAVEC ? 0 : how == FXSAVE ? 0xff : 0xff & ~mask;
                    else if (i > HEADER && i < HEADER + 8 && (mask & 1))
                        expected = how == XSAVEC ? 0 : 0xff;
                    if (bits[i] != expected && !wrong++)
                        printf("%s of %u%s: byte %d has %02x, not %02x\n", names[how], mask,
                               states[state], i, bits[i], expected);
                }
            }
    printf("%u differ\n", wrong);
    return 0;
}
