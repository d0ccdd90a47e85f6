/* Frequent vector instructions on undefined data are settled with little; where an address has 32 bits they take the long
 * way.  Both must come to the same V bits, of registers, of memory, and whatever the width and the encoding. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "valgrind/memcheck.h"

struct operands {
    uint64_t a[4], b[4];
};
struct results {
    uint64_t a[4], b[4];
};

/* YMM0 and YMM1, and the second operand in memory, at RDX. */
#define WAY(name, text)                                                                                                \
    static void name(struct operands *in, struct results *out) {                                                       \
        __asm__ volatile("vmovups (%0), %%ymm0; vmovups 32(%0), %%ymm1; lea 32(%0), %%rdx; " text                      \
                         "; vmovups %%ymm0, (%1); vmovups 32(%0), %%ymm1; vmovups %%ymm1, 32(%1); vzeroupper"          \
                         :                                                                                             \
                         : "r"(in), "r"(out)                                                                           \
                         : "rcx", "rdx", "xmm0", "xmm1", "xmm2", "memory");                                                           \
    }

#define SCALAR(op)                                                                                                     \
    WAY(op##_reg, #op " %%xmm1, %%xmm0")                                                                               \
    WAY(op##_mem, #op " (%%rdx), %%xmm0")                                                                              \
    WAY(op##_long, #op " (%%edx), %%xmm0")                                                                             \
    WAY(op##_vex, "v" #op " %%xmm1, %%xmm0, %%xmm0")                                                                   \
    WAY(op##_vex_mem, "v" #op " (%%rdx), %%xmm0, %%xmm0")                                                              \
    WAY(op##_vex_long, "v" #op " (%%edx), %%xmm0, %%xmm0")
#define PACKED(op)                                                                                                     \
    SCALAR(op)                                                                                                         \
    WAY(op##_wide, "v" #op " %%ymm1, %%ymm0, %%ymm0")                                                                  \
    WAY(op##_wide_mem, "v" #op " (%%rdx), %%ymm0, %%ymm0")                                                             \
    WAY(op##_wide_long, "v" #op " (%%edx), %%ymm0, %%ymm0")
#define LOAD(op)                                                                                                       \
    WAY(op##_load, #op " (%%rdx), %%xmm0")                                                                             \
    WAY(op##_load_long, #op " (%%edx), %%xmm0")                                                                        \
    WAY(op##_vex_load, "v" #op " (%%rdx), %%xmm0")                                                                     \
    WAY(op##_vex_load_long, "v" #op " (%%edx), %%xmm0")                                                                \
    WAY(op##_store, #op " %%xmm0, (%%rdx)")                                                                            \
    WAY(op##_store_long, #op " %%xmm0, (%%edx)")
#define COPY(op)                                                                                                       \
    WAY(op##_reg, #op " %%xmm1, %%xmm0")                                                                               \
    WAY(op##_long, #op " (%%edx), %%xmm0")                                                                             \
    WAY(op##_vex, "v" #op " %%xmm1, %%xmm0")                                                                           \
    WAY(op##_vex_long, "v" #op " (%%edx), %%xmm0")                                                                     \
    WAY(op##_wide, "v" #op " %%ymm1, %%ymm0")                                                                          \
    WAY(op##_wide_long, "v" #op " (%%edx), %%ymm0")

/* Of one source and two, with a number, and shifts by one. */
#define SHUFFLE(op, number)                                                                                            \
    WAY(op##_reg, #op " " number "%%xmm1, %%xmm0")                                                                     \
    WAY(op##_long, #op " " number "(%%edx), %%xmm0")                                                                   \
    WAY(op##_vex, "v" #op " " number "%%xmm1, %%xmm0")                                                                 \
    WAY(op##_vex_long, "v" #op " " number "(%%edx), %%xmm0")
#define JOIN(op, number)                                                                                               \
    WAY(op##_reg, #op " " number "%%xmm1, %%xmm0")                                                                     \
    WAY(op##_long, #op " " number "(%%edx), %%xmm0")                                                                   \
    WAY(op##_vex, "v" #op " " number "%%xmm1, %%xmm0, %%xmm0")                                                         \
    WAY(op##_vex_long, "v" #op " " number "(%%edx), %%xmm0, %%xmm0")
#define SHIFT(op, number)                                                                                              \
    WAY(op##_reg, #op " $" #number ", %%xmm0")                                                                         \
    WAY(op##_long, "mov $" #number ", %%ecx; movd %%ecx, %%xmm2; " #op " %%xmm2, %%xmm0")                              \
    WAY(op##_vex, "v" #op " $" #number ", %%xmm1, %%xmm0")                                                             \
    WAY(op##_vex_long, "mov $" #number ", %%ecx; movd %%ecx, %%xmm2; v" #op " %%xmm2, %%xmm1, %%xmm0")
#define BYTES(op, number, shuffle)                                                                                     \
    WAY(op##_reg, #op " $" #number ", %%xmm0")                                                                         \
    WAY(op##_long, shuffle)                                                                                            \
    WAY(op##_vex, "v" #op " $" #number ", %%xmm0, %%xmm0")                                                             \
    WAY(op##_vex_long, "v" #op " $" #number ", %%ymm0, %%ymm0; vmovaps %%xmm0, %%xmm0")

/* clang-format off */
#define EACH_SHUFFLE(X) \
    X(pshufd, "$0x1b, ") X(pshuflw, "$0x2d, ") X(pshufhw, "$0xe1, ") X(movddup, ) X(movsldup, ) X(movshdup, ) \
    X(pmovzxbw, ) X(pmovzxwd, ) X(pmovzxbq, ) X(pmovsxbd, ) X(pmovsxwq, ) X(pmovsxdq, )
#define EACH_JOIN(X) \
    X(punpcklbw, ) X(punpcklwd, ) X(punpckldq, ) X(punpcklqdq, ) X(punpckhbw, ) X(punpckhwd, ) X(punpckhdq, ) \
    X(punpckhqdq, ) X(unpcklps, ) X(unpckhpd, ) X(shufps, "$0x4e, ") X(shufpd, "$1, ") X(palignr, "$5, ") \
    X(blendps, "$6, ") X(blendpd, "$2, ") X(pblendw, "$0x5a, ")
#define EACH_SHIFT(X) X(psllw, 3) X(pslld, 7) X(psllq, 40) X(psrlw, 1) X(psrld, 31) X(psrlq, 5) X(psraw, 4) X(psrad, 9)
#define EACH_BYTES(X) X(pslldq, 3, "vpslldq $3, %%ymm0, %%ymm2; vblendps $15, %%ymm2, %%ymm0, %%ymm0") \
    X(psrldq, 5, "vpsrldq $5, %%ymm0, %%ymm2; vblendps $15, %%ymm2, %%ymm0, %%ymm0")
#define EACH_PACKED(X) \
    X(paddb) X(paddw) X(paddd) X(paddq) X(psubb) X(psubw) X(psubd) X(psubq) X(pxor) X(pand) X(pandn) X(por) X(xorps) \
    X(andpd) X(andnps) X(orps) X(addps) X(addpd) X(subps) X(mulpd) X(divps) X(minpd) X(maxps)
#define EACH_SCALAR(X) X(addss) X(addsd) X(subsd) X(mulss) X(divsd) X(minss) X(maxsd)
#define EACH_LOAD(X) X(movss) X(movsd) X(movd) X(movq)
#define EACH_COPY(X) X(movaps) X(movups) X(movdqa)
/* clang-format on */

EACH_PACKED(PACKED)
EACH_SCALAR(SCALAR)
EACH_LOAD(LOAD)
EACH_COPY(COPY)
EACH_SHUFFLE(SHUFFLE)
EACH_JOIN(JOIN)
EACH_SHIFT(SHIFT)
EACH_BYTES(BYTES)

typedef void way(struct operands *, struct results *);
static int different;

static uint64_t state = 1;
static uint64_t next(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

/* Few bits, many, whole elements, none. */
static uint64_t bits(void) {
    switch (next() % 6) {
    case 0:
    case 1: return 0;
    case 2: return 1ull << next() % 64;
    case 3: return 0xffffull << 16 * (next() % 4);
    case 4: return ~0ull;
    default: return next();
    }
}

static void compare(const char *text, struct operands *at, way *one, way *other) {
    struct operands in, undefined;
    for (int i = 0; i < 8; i++) {
        (i < 4 ? in.a : in.b)[i & 3] = next();
        (i < 4 ? undefined.a : undefined.b)[i & 3] = bits();
    }
    way *ways[2] = {one, other};
    struct results out[2], v[2];
    for (int i = 0; i < 2; i++) {
        memcpy(at, &in, sizeof in);
        (void)VALGRIND_SET_VBITS(at, &undefined, sizeof in);
        ways[i](at, &out[i]);
        (void)VALGRIND_GET_VBITS(&out[i], &v[i], sizeof v[i]);
        VALGRIND_MAKE_MEM_DEFINED(at, sizeof in);
    }
    if (!memcmp(&v[0], &v[1], sizeof v[0]) || different++ >= 20) return;
    printf("%s:\n", text);
    for (int i = 0; i < 4; i++)
        printf("  a %016llx (%016llx) b %016llx (%016llx): %016llx and %016llx, memory %016llx and %016llx\n",
               (unsigned long long)in.a[i], (unsigned long long)undefined.a[i], (unsigned long long)in.b[i],
               (unsigned long long)undefined.b[i], (unsigned long long)v[0].a[i], (unsigned long long)v[1].a[i],
               (unsigned long long)v[0].b[i], (unsigned long long)v[1].b[i]);
}

#define COMPARE(one, other) compare(#one, at, one, other);
#define COMPARE_SCALAR(op)                                                                                             \
    COMPARE(op##_reg, op##_long)                                                                                       \
    COMPARE(op##_mem, op##_long)                                                                                       \
    COMPARE(op##_vex, op##_vex_long)                                                                                   \
    COMPARE(op##_vex_mem, op##_vex_long)
#define COMPARE_PACKED(op)                                                                                             \
    COMPARE_SCALAR(op)                                                                                                 \
    COMPARE(op##_wide, op##_wide_long)                                                                                 \
    COMPARE(op##_wide_mem, op##_wide_long)
#define COMPARE_LOAD(op)                                                                                               \
    COMPARE(op##_load, op##_load_long)                                                                                 \
    COMPARE(op##_vex_load, op##_vex_load_long)                                                                         \
    COMPARE(op##_store, op##_store_long)
#define COMPARE_MOVED(op, ...)                                                                                         \
    COMPARE(op##_reg, op##_long)                                                                                       \
    COMPARE(op##_vex, op##_vex_long)
#define COMPARE_COPY(op)                                                                                               \
    COMPARE(op##_reg, op##_long)                                                                                       \
    COMPARE(op##_vex, op##_vex_long)                                                                                   \
    COMPARE(op##_wide, op##_wide_long)

int main(void) {
    struct operands *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (at == MAP_FAILED || (uintptr_t)at >> 32) return 1;
    for (int turn = 0; __builtin_cpu_supports("avx2") && turn < 200; turn++) {
        EACH_PACKED(COMPARE_PACKED)
        EACH_SCALAR(COMPARE_SCALAR)
        EACH_LOAD(COMPARE_LOAD)
        EACH_COPY(COMPARE_COPY)
        EACH_SHUFFLE(COMPARE_MOVED)
        EACH_JOIN(COMPARE_MOVED)
        EACH_SHIFT(COMPARE_MOVED)
        EACH_BYTES(COMPARE_MOVED)
    }
    printf("%d different\n", different);
    return 0;
}
