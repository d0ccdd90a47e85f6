/* No error: an undefined mask that chooses between equal values, or masks a comparison that is false, and
 * operations of a register with itself whose result does not depend on it; products with
 * zero, bits that a shift leaves out, and zeros that an undefined count shifts.
 * @options: -q --leak-check=no */
#include <stdint.h>
#include <stdlib.h>

static unsigned char out[64];
static const unsigned char zeros[64];
static const unsigned char *undefined;
static uint64_t mask; /* undefined */
static int set;

static void look(void) {
    for (unsigned i = 0; i < sizeof out; i++)
        if (out[i])
            set++;
}

#define INTO_ZMM1(code)                                                                                          \
    do {                                                                                                         \
        __asm__ volatile("kmovq %1, %%k1\n\t"                                                                    \
                         "vmovdqu64 %2, %%zmm2\n\t"                                                              \
                         "vpxord %%zmm1, %%zmm1, %%zmm1\n\t"                                                     \
                         "vpxord %%zmm3, %%zmm3, %%zmm3\n\t"                                                     \
                         "vpxord %%zmm4, %%zmm4, %%zmm4\n\t" code "\n\t"                                         \
                         "vmovdqu64 %%zmm1, %0\n\t"                                                              \
                         "vzeroupper"                                                                            \
                         : "=m"(out)                                                                             \
                         : "r"(mask), "m"(*(const char(*)[64])undefined), "m"(zeros), "r"(0l)                    \
                         : "k1", "xmm1", "xmm2", "xmm3", "xmm4");                                                \
        look();                                                                                                  \
    } while (0)

#define INTO_K2(code)                                                                                            \
    do {                                                                                                         \
        uint64_t result;                                                                                         \
        __asm__ volatile("kmovq %1, %%k1\n\t"                                                                    \
                         "vmovdqu64 %2, %%zmm2\n\t"                                                              \
                         "vpxord %%zmm3, %%zmm3, %%zmm3\n\t"                                                     \
                         "vpxord %%zmm4, %%zmm4, %%zmm4\n\t" code "\n\t"                                         \
                         "kmovq %%k2, %0\n\t"                                                                    \
                         "vzeroupper"                                                                            \
                         : "=r"(result)                                                                          \
                         : "r"(mask), "m"(*(const char(*)[64])undefined), "m"(zeros)                             \
                         : "k1", "k2", "xmm2", "xmm3", "xmm4");                                                  \
        if (result)                                                                                              \
            set++;                                                                                               \
    } while (0)

__attribute__((target("avx512f,avx512bw"))) static void all(void) {
    /* zero or zero */
    INTO_ZMM1("vpxord %%zmm2, %%zmm2, %%zmm1%{%%k1%}%{z%}");
    INTO_ZMM1("vpxorq %%zmm2, %%zmm2, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpandnd %%zmm2, %%zmm2, %%zmm1%{%%k1%}%{z%}");
    INTO_ZMM1("vpsubb %%zmm2, %%zmm2, %%zmm1%{%%k1%}%{z%}");
    INTO_ZMM1("vpsubd %%zmm2, %%zmm2, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpsubusw %%zmm2, %%zmm2, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpandd %%zmm2, %%zmm3, %%zmm1%{%%k1%}");
    INTO_ZMM1("vmovdqa32 %%zmm3, %%zmm1%{%%k1%}");
    INTO_ZMM1("vmovdqu8 %%zmm3, %%zmm1%{%%k1%}%{z%}");
    INTO_ZMM1("vpblendmd %%zmm3, %%zmm4, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpternlogd $0, %%zmm2, %%zmm2, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpbroadcastd %%xmm3, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpbroadcastw %k4, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpbroadcastq %4, %%zmm1%{%%k1%}%{z%}");
    INTO_ZMM1("vpbroadcastb %3, %%zmm1%{%%k1%}");
    INTO_ZMM1("vbroadcasti32x4 %3, %%zmm1%{%%k1%}%{z%}");
    INTO_ZMM1("vmovdqu16 %3, %%zmm1%{%%k1%}%{z%}");
    INTO_ZMM1("vpandd %3%{1to16%}, %%zmm2, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpblendmb %3, %%zmm4, %%zmm1%{%%k1%}");
    /* a sum with zero and its like */
    INTO_ZMM1("vpaddsb %%zmm3, %%zmm1, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpsubusw %%zmm4, %%zmm3, %%zmm1%{%%k1%}%{z%}");
    INTO_ZMM1("vpaddd %3%{1to16%}, %%zmm3, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpavgb %%zmm3, %%zmm4, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpmullw %%zmm2, %%zmm3, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpmuludq %%zmm3, %%zmm2, %%zmm1%{%%k1%}%{z%}");
    INTO_ZMM1("vpmaddubsw %%zmm3, %%zmm4, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpmaxsd %%zmm3, %%zmm4, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpabsb %%zmm3, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpsraw $3, %%zmm3, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpsrld $32, %%zmm2, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpsllvd %%zmm4, %%zmm3, %%zmm1%{%%k1%}%{z%}");
    /* moved from elsewhere in its register */
    INTO_ZMM1("vpshufb %%zmm4, %%zmm3, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpunpckldq %%zmm3, %%zmm4, %%zmm1%{%%k1%}%{z%}");
    INTO_ZMM1("vpshufd $0x1b, %3, %%zmm1%{%%k1%}");
    INTO_ZMM1("vshufps $0x4e, %%zmm3, %%zmm4, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpermw %3, %%zmm4, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpermilpd %%zmm4, %%zmm3, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpermi2d %%zmm3, %%zmm4, %%zmm1%{%%k1%}%{z%}");
    INTO_ZMM1("vpermt2q %%zmm3, %%zmm4, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpalignr $5, %%zmm3, %%zmm4, %%zmm1%{%%k1%}");
    INTO_ZMM1("valignd $5, %%zmm3, %%zmm4, %%zmm1%{%%k1%}");
    INTO_ZMM1("vshufi32x4 $0x4e, %%zmm3, %%zmm4, %%zmm1%{%%k1%}");
    INTO_ZMM1("vinserti32x4 $2, %%xmm3, %%zmm4, %%zmm1%{%%k1%}");
    INTO_ZMM1("vextracti32x4 $2, %%zmm3, %%xmm1%{%%k1%}");
    INTO_ZMM1("vmovshdup %%zmm3, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpmovsxbw %%ymm3, %%zmm1%{%%k1%}");
    INTO_ZMM1("vpmovdb %%zmm3, %%xmm1%{%%k1%}%{z%}");
    INTO_ZMM1("vmovss %%xmm3, %%xmm4, %%xmm1%{%%k1%}");
    /* zero by an undefined count, ones under the sign, and the bits that none of those set come to */
    INTO_ZMM1("vpsllvd %%zmm2, %%zmm3, %%zmm1");
    INTO_ZMM1("vpsrlvw %%zmm2, %%zmm3, %%zmm1");
    INTO_ZMM1("vpsravq %%zmm2, %%zmm3, %%zmm1");
    INTO_ZMM1("vpsrld %%xmm2, %%ymm3, %%ymm1");
    INTO_ZMM1("pslld %%xmm2, %%xmm3\n\tmovdqa %%xmm3, %%xmm1");
    INTO_ZMM1("vpternlogd $0xff, %%zmm3, %%zmm3, %%zmm3\n\tvpsrad %%xmm2, %%zmm3, %%zmm1\n\t"
              "vpxord %%zmm3, %%zmm1, %%zmm1");
    INTO_ZMM1("vpternlogd $0xff, %%zmm3, %%zmm3, %%zmm3\n\tvpslld $12, %%zmm3, %%zmm3\n\t"
              "vpsllvd %%zmm2, %%zmm3, %%zmm1\n\tvpslld $20, %%zmm1, %%zmm1");
    INTO_ZMM1("vpternlogd $0xff, %%zmm3, %%zmm3, %%zmm3\n\tvpsrlq $40, %%zmm3, %%zmm3\n\t"
              "vpsrlvq %%zmm2, %%zmm3, %%zmm1\n\tvpsrlq $24, %%zmm1, %%zmm1");
    /* whatever the register holds */
    INTO_ZMM1("vpternlogd $0x96, %%zmm2, %%zmm2, %%zmm1");
    INTO_ZMM1("vpsubsb %%zmm2, %%zmm2, %%zmm1");
    INTO_ZMM1("vpsubw %%ymm2, %%ymm2, %%ymm1");
    INTO_ZMM1("vpcmpgtd %%ymm2, %%ymm2, %%ymm1");
    INTO_ZMM1("vpsadbw %%zmm2, %%zmm2, %%zmm1");
    INTO_K2("kxorq %%k1, %%k1, %%k2");
    INTO_K2("kandnq %%k1, %%k1, %%k2");
    INTO_K2("kxnorq %%k1, %%k1, %%k2\n\tknotq %%k2, %%k2");
    /* products with zero */
    INTO_ZMM1("vpmaddwd %%zmm3, %%zmm2, %%zmm1");
    INTO_ZMM1("vpmaddubsw %%zmm2, %%zmm3, %%zmm1");
    INTO_ZMM1("vpmulhw %%ymm2, %%ymm3, %%ymm1");
    INTO_ZMM1("vpmulhuw %3, %%zmm2, %%zmm1");
    INTO_ZMM1("vpmulhrsw %%xmm3, %%xmm2, %%xmm1");
    INTO_ZMM1("vmovdqa %%xmm2, %%xmm1\n\tpmaddwd %%xmm3, %%xmm1");
    /* false, taken or not */
    INTO_K2("vpcmpneqb %%zmm2, %%zmm2, %%k2%{%%k1%}");
    INTO_K2("vpcmpgtd %%zmm2, %%zmm2, %%k2%{%%k1%}");
    INTO_K2("vpcmpneqb %%zmm3, %%zmm4, %%k2%{%%k1%}");
    INTO_K2("vpcmpltub %%zmm3, %%zmm4, %%k2%{%%k1%}");
    INTO_K2("vptestmb %%zmm2, %%zmm3, %%k2%{%%k1%}");
    INTO_K2("vpcmpgtd %3, %%zmm4, %%k2%{%%k1%}");
    INTO_K2("vpcmpneqd %3%{1to16%}, %%zmm3, %%k2%{%%k1%}");
}

/* Bytes of which the lower halves are undefined, shifted by a matrix. */
__attribute__((target("avx512f,avx512bw,gfni"))) static void shifted(void) {
    static const uint64_t lower[8] = {[0 ... 7] = 0x0f0f0f0f0f0f0f0f};
    static const uint64_t by_four[8] = {[0 ... 7] = 0x1020408000000000};
    __asm__ volatile("vmovdqu64 %1, %%zmm1\n\t"
                     "vpandq %2, %%zmm1, %%zmm1\n\t"
                     "vgf2p8affineqb $0, %3, %%zmm1, %%zmm1\n\t"
                     "vmovdqu64 %%zmm1, %0\n\t"
                     "vzeroupper"
                     : "=m"(out)
                     : "m"(*(const char(*)[64])undefined), "m"(lower), "m"(by_four)
                     : "xmm1");
    look();
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) static void dot_products(void) {
    INTO_ZMM1("vpdpbusd %%zmm3, %%zmm2, %%zmm1");
    INTO_ZMM1("vpdpbusds %%zmm2, %%zmm3, %%zmm1");
    INTO_ZMM1("vpdpwssd %%zmm3, %%zmm2, %%zmm1");
    INTO_ZMM1("vpdpwssds %3%{1to16%}, %%zmm2, %%zmm1");
}

__attribute__((target("avx512f,avx512bw,avx512ifma"))) static void long_products(void) {
    INTO_ZMM1("vpmadd52luq %%zmm3, %%zmm2, %%zmm1");
    INTO_ZMM1("vpmadd52huq %%zmm2, %%zmm3, %%zmm1");
}

int main(void) {
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw"))
        return 0;
    unsigned char *p = malloc(64 + sizeof mask);
    undefined = p;
    mask = *(uint64_t *)(p + 64);
    all();
    if (__builtin_cpu_supports("gfni"))
        shifted();
    if (__builtin_cpu_supports("avx512vnni"))
        dot_products();
    if (__builtin_cpu_supports("avx512ifma"))
        long_products();
    free(p);
    return set;
}
