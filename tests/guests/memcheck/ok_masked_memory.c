/* No error: AVX-512 instructions access what their masks select and nothing else,
 * and undefined elements go where theirs go.  Valgrind has no AVX-512: there the
 * program does nothing. */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define VBMI2 __attribute__((target("avx512f,avx512bw,avx512vbmi2")))
#define BF16 __attribute__((target("avx512f,avx512bf16")))
#define AVX512CD __attribute__((target("avx512f,avx512bw,avx512dq,avx512cd")))
#define BITALG __attribute__((target("avx512f,avx512bw,avx512bitalg")))
static volatile int use;

/* Of n bytes at p, one bit a byte that has an undefined bit. */
static unsigned long undefined(const void *p, int n) {
    unsigned char v[64];
    unsigned long bits = 0;
    VALGRIND_GET_VBITS(p, v, n);
    for (int i = 0; i < n; i++)
        bits |= (unsigned long)!!v[i] << i;
    return bits;
}
static void want(const char *what, const void *p, int n, unsigned long bits) {
    unsigned long found = undefined(p, n);
    if (found != bits)
        printf("%s: %lx, not %lx\n", what, found, bits);
}
static void used(const int *p, int n) {
    for (int i = 0; i < n; i++)
        if (p[i] == 77)
            use++;
}

AVX512 static void five(int *block) { /* a block of five ints */
    int s[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    __m512i v = _mm512_loadu_si512(s);
    _mm512_mask_compressstoreu_epi32(block, 0x8889, v);
    used(block, 5);
    _mm512_mask_compressstoreu_epi64(block, 0x18, v);
    used(block, 4);
    _mm512_mask_compressstoreu_epi32(block + 5, 0, v);
    _mm512_mask_i32scatter_epi32(block, 0x0f, v, v, 4);
    used(block + 1, 4);
    _mm512_storeu_si512(s, _mm512_maskz_expandloadu_epi32(0xf100, block));
    used(s, 16);
    _mm512_storeu_si512(s, _mm512_mask_expandloadu_epi32(v, 0x8080, block + 3));
    used(s, 16);
    _mm512_storeu_si512(s, _mm512_maskz_cvtepu8_epi32(0x7, _mm_maskz_loadu_epi32(1, block + 4)));
    used(s, 16);
    __asm__ volatile("vpmovzxbd %1, %0%{%2%}%{z%}" : "=v"(v) : "m"(((char *)block)[16]), "Yk"((__mmask16)0xf));
    _mm512_storeu_si512(s, v);
    used(s, 16);
    __asm__ volatile("vpbroadcastd %1, %0%{%2%}%{z%}" : "=v"(v) : "m"(block[4]), "Yk"((__mmask16)0x8000));
    _mm512_storeu_si512(s, v);
    used(s, 16);
    __asm__ volatile("vbroadcasti32x4 %1, %0%{%2%}%{z%}" : "=v"(v) : "m"(block[3]), "Yk"((__mmask16)0x3220));
    _mm512_storeu_si512(s, v);
    used(s, 16);
    __asm__ volatile("vpaddd %1%{1to16%}, %0, %0%{%2%}%{z%}" : "+v"(v) : "m"(block[5]), "Yk"((__mmask16)0));
    __asm__ volatile("vaddps %1%{1to16%}, %0, %0%{%2%}%{z%}" : "+v"(v) : "m"(block[5]), "Yk"((__mmask64)~0xfffful));
    __asm__ volatile("vcvtss2sd %1, %x0, %x0%{%2%}" : "+v"(v) : "m"(block[5]), "Yk"((__mmask16)0xfe));
    __asm__ volatile("vscalefps %1, %0, %0%{%2%}%{z%}" : "+v"(v) : "m"(block[4]), "Yk"((__mmask16)1));
    _mm512_storeu_si512(s, v);
    used(s, 16);
}

AVX512 static void bits(int *block, const int *half) { /* half: the even elements are undefined */
    __m512i v = _mm512_loadu_si512(half);
    int at[16];
    for (int i = 0; i < 16; i++)
        at[i] = 15 - i;
    memset(block, 0, 64);
    _mm512_i32scatter_epi32(block, _mm512_loadu_si512(at), v, 4);
    want("scatter", block, 64, 0xf0f0f0f0f0f0f0f0);
    memset(block, 0, 64);
    _mm512_mask_compressstoreu_epi32(block, 0x00ff, v);
    want("compress", block, 64, 0x0f0f0f0f);
    _mm512_storeu_si512(block, _mm512_maskz_compress_epi32(0x5555, v));
    want("compress in a register", block, 64, 0xffffffff);
    _mm512_storeu_si512(block, _mm512_maskz_compress_epi32(0xaaaa, v));
    want("compress defined", block, 64, 0);
    _mm512_storeu_si512(block, _mm512_maskz_expandloadu_epi32(0xf000, half));
    want("expand", block, 64, 0x0f0f000000000000);
    _mm512_storeu_si512(block, _mm512_mask_expand_epi32(v, 0x0002, v));
    want("expand in a register", block, 64, 0x0f0f0f0f0f0f0fff);
    __asm__ volatile("vpermd %1, %2, %0%{%3%}%{z%}"
                     : "=&v"(v) : "m"(*(const __m512i *)half), "v"(_mm512_set1_epi32(2)), "Yk"((__mmask16)0x8));
    _mm512_storeu_si512(block, v);
    want("permute", block, 64, 0xf000);
}

/* Sevens, and in their place what the instruction reads where the mask says so. */
#define OVER_SEVEN(what, text, operand, mask, open)                                                                    \
    v = seven;                                                                                                         \
    __asm__ volatile(text : "+v"(v) : operand, "Yk"(mask));                                                            \
    _mm512_storeu_si512(s, v);                                                                                         \
    want(what, s, 64, open)

/* Under a mask of which nothing is defined: block has five ints, and the mask selects no other. */
AVX512 static void choices(int *block) {
    int s[16];
    __m512i v, seven = _mm512_set1_epi32(7);
    __mmask16 k = 0x15, none = 0;
    VALGRIND_MAKE_MEM_UNDEFINED(&k, sizeof k);
    VALGRIND_MAKE_MEM_UNDEFINED(&none, sizeof none);
    memset(block, 0, 20);
    __asm__ volatile("vmovdqu32 %1, %0%{%2%}%{z%}" : "=v"(v) : "m"(*(const __m512i *)block), "Yk"(k));
    _mm512_storeu_si512(s, v);
    want("zero or zero", s, 64, 0xfffffffffff00000);
    OVER_SEVEN("zero or seven", "vmovdqu32 %1, %0%{%2%}", "m"(*(const __m512i *)block), k, 0xfffffffffff11111);
    OVER_SEVEN("zero, repeated, or seven", "vpbroadcastd %1, %0%{%2%}", "m"(block[4]), k, 0x1111111111111111);
    OVER_SEVEN("seven or seven", "vpbroadcastd %1, %0%{%2%}", "r"(7), k, 0);
    OVER_SEVEN("and of zero, or seven", "vpandd %1%{1to16%}, %0, %0%{%2%}", "m"(block[3]), k, 0x1111111111111111);
    OVER_SEVEN("and of what cannot be read, or seven", "vpandd %1%{1to16%}, %0, %0%{%2%}", "m"(block[5]), none,
               0x1111111111111111);
}

/* Stores under such masks: what may have been stored is as undefined as what was; block's end is no matter. */
AVX512 static void stored_choices(int *block) {
    __m512i v = _mm512_setzero_si512(), seven = _mm512_set1_epi32(7);
    __mmask16 k = 0x15;
    unsigned short half = 6;
    VALGRIND_MAKE_MEM_UNDEFINED(&k, sizeof k);
    memset(block, 0, 20);
    _mm512_mask_storeu_epi32(block, k, v);
    want("zero over zero", block, 20, 0);
    _mm512_mask_storeu_epi32(block, k, seven);
    want("seven over zero", block, 20, 0x11111);
    memset(block, 0, 20);
    _mm512_mask_compressstoreu_epi32(block, k, v);
    want("compressed zeros over zero", block, 20, 0xfffff);
    memset(block, 0, 20);
    _mm512_mask_cvtepi64_storeu_epi32(block, k & 0x1f, v);
    want("shortened zeros over zero", block, 20, 0);
    _mm512_mask_cvtepi64_storeu_epi32(block, k & 0x1f, seven);
    want("shortened sevens over zero", block, 20, 0x11111);
    memset(block, 0, 20);
    VALGRIND_SET_VBITS(&k, &half, sizeof k);
    _mm512_mask_storeu_epi32(block, k, seven);
    want("seven over zero, by half a mask", block, 20, 0x110);
    memset(block, 0, 20);
    _mm512_mask_compressstoreu_epi32(block, k & 0x7, seven);
    want("compressed sevens, by half a mask", block, 20, 0xff0);
}

#define UNDER_MASK(code, k)                                                                                            \
    __asm__ volatile(code : "+v"(v) : "m"(block[3]), "Yk"((__mmask64)(k)));                                            \
    _mm512_storeu_si512(s, v);                                                                                         \
    used(s, 16)
#define INTO_MASK(code, from, k)                                                                                       \
    __asm__ volatile(code : "=Yk"(mask) : "m"(from), "Yk"((__mmask64)(k)), "v"(v));                                    \
    if (mask == 77) use++

AVX512CD static void one_by_one(int *block) { /* rotations, counts, scalar comparisons */
    int s[16] = {0};
    __mmask16 mask;
    __m512i v = _mm512_loadu_si512(s);
    UNDER_MASK("vprold $3, %1, %0%{%2%}", 3);
    UNDER_MASK("vprorvq %1, %0, %0%{%2%}%{z%}", 1);
    UNDER_MASK("vplzcntd %1, %0%{%2%}", 3);
    INTO_MASK("vcmpss $1, %1, %x3, %0%{%2%}", block[5], 2);
    INTO_MASK("vfpclassss $1, %1, %0", block[4], 0);
    INTO_MASK("vfpclassss $1, %1, %0%{%2%}", block[4], 0xf);
}

BITALG static void counted(int *block) {
    int s[16] = {0};
    __mmask64 mask;
    __m512i v = _mm512_loadu_si512(s);
    UNDER_MASK("vpopcntb %1, %0%{%2%}", 0xff);
    INTO_MASK("vpshufbitqmb %1, %3, %0%{%2%}", block[4], 0xf);
}

BF16 static void halves(int *block) {
    __m512 v = _mm512_setzero_ps();
    int s[16];
    __asm__ volatile("vdpbf16ps %1, %0, %0%{%2%}" : "+v"(v) : "m"(block[4]), "Yk"((__mmask16)1));
    __asm__ volatile("vcvtneps2bf16 %1, %t0%{%2%}" : "+v"(v) : "m"(block[3]), "Yk"((__mmask16)2));
    _mm512_storeu_si512(s, _mm512_castps_si512(v));
    used(s, 16);
}

VBMI2 static void bytes(int *block) {
    char s[64];
    memset(s, 1, sizeof s);
    __m512i v = _mm512_loadu_si512(s);
    _mm512_mask_compressstoreu_epi8(block, 0x1f00000001f001ful << 4, v);
    _mm512_mask_compressstoreu_epi16(block, 0x8100, v);
    used((int *)block, 1);
    _mm512_storeu_si512(s, _mm512_maskz_expandloadu_epi8(0x88, (char *)block + 18));
    used((int *)s, 16);
}

VBMI2 static void doubled(int *block) {
    int s[16] = {0};
    __m512i v = _mm512_loadu_si512(s);
    UNDER_MASK("vpshldvd %1, %0, %0%{%2%}", 3);
    UNDER_MASK("vpshrdw $3, %1, %0, %0%{%2%}", 0xf);
}

int main(void) {
    int *block = malloc(5 * sizeof *block), *whole = aligned_alloc(64, 64), *half = aligned_alloc(64, 64);
    memset(block, 1, 5 * sizeof *block);
    for (int i = 1; i < 16; i += 2)
        half[i] = i;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
        five(block);
        one_by_one(block);
        if (__builtin_cpu_supports("avx512bitalg"))
            counted(block);
        if (RUNNING_ON_VALGRIND)
            bits(whole, half), choices(block), stored_choices(block);
        if (__builtin_cpu_supports("avx512vbmi2"))
            bytes(block), doubled(block);
        if (__builtin_cpu_supports("avx512bf16"))
            halves(block);
    }
    free(block);
    free(whole);
    free(half);
    return 0;
}
