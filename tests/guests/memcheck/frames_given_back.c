/* Frames of many sizes, at multiples of 8 and 16, are filled and given back by an amount that is in a register: what
 * is taken there next is undefined, all of it, and what lies above stays as it was.  The same for large frames of which
 * one byte was stored to, and for stores to the red zone; registers that the marking may use keep their values. */
#include <stdio.h>
#include <string.h>

#include <valgrind/memcheck.h>

#define MOST 70000

/* Below so many words: takes size bytes, fills them and gives them back. */
void fill(unsigned long size, unsigned long words);
__asm__(".text\n"
        "fill:\n"
        "  mov %rsi, %rcx\n"
        "1: push %rax\n"
        "  dec %rcx\n"
        "  jne 1b\n"
        "  call 3f\n"
        "2: pop %rax\n"
        "  dec %rsi\n"
        "  jne 2b\n"
        "  ret\n"
        "3: sub %rdi, %rsp\n"
        "  mov %rdi, %rdx\n"
        "  mov %rdi, %rcx\n"
        "  mov %rsp, %rdi\n"
        "  mov $1, %al\n"
        "  rep stosb\n"
        "  add %rdx, %rsp\n"
        "  ret\n");

/* The same of one byte, at rsi. */
void touch(unsigned long size, unsigned long at);
__asm__("touch:\n"
        "  sub %rdi, %rsp\n"
        "  movb $1, (%rsp,%rsi)\n"
        "  add %rdi, %rsp\n"
        "  ret\n");

/* Stores a byte so far below RSP, within the red zone, amid a frame of size bytes (0: none). */
void below(unsigned long size, unsigned long distance);
__asm__("below:\n"
        "  sub %rdi, %rsp\n"
        "  mov %rsp, %rax\n"
        "  sub %rsi, %rax\n"
        "  movb $1, (%rax)\n"
        "  test %rdi, %rdi\n"
        "  je 1f\n"
        "  add %rdi, %rsp\n"
        "1: ret\n");

static unsigned long wide[4][8], masks[2];

/* touch, with values in vector registers, whose upper halves are in use or not: how many of them it has changed.  (In
 * one piece: compilers put vzeroupper before a call.) */
__attribute__((noinline, target("avx2"))) static unsigned touch_halves(unsigned long size, unsigned long at) {
    static unsigned long now[6][4], were[6][4];
    for (unsigned i = 0; i < 24; i++) were[i / 4][i % 4] = i >= 12 && i % 4 >= 2 ? 0 : 0x0123456789abcdef * (i + size + at);
    __asm__ volatile("lea -128(%%rsp), %%rsp;"
                     "vmovdqu (%0), %%ymm0; vmovdqu 32(%0), %%ymm1; vmovdqu 64(%0), %%ymm2; call touch;"
                     "vmovdqu %%ymm0, (%1); vmovdqu %%ymm1, 32(%1); vmovdqu %%ymm2, 64(%1); vzeroupper;"
                     "movdqu 96(%0), %%xmm0; movdqu 128(%0), %%xmm1; movdqu 160(%0), %%xmm2; call touch;"
                     "vmovdqu %%ymm0, 96(%1); vmovdqu %%ymm1, 128(%1); vmovdqu %%ymm2, 160(%1); vzeroupper;"
                     "lea 128(%%rsp), %%rsp"
                     :
                     : "r"(were), "r"(now), "D"(size), "S"(at)
                     : "memory", "cc", "xmm0", "xmm1", "xmm2");
    return memcmp(now, were, sizeof now) != 0;
}

/* touch, with values in the registers that only wide vectors have: how many of them it has changed. */
__attribute__((noinline, target("avx512bw"))) static unsigned touch_wide(unsigned long size, unsigned long at) {
    for (unsigned i = 0; i < 32; i++) wide[i / 8][i % 8] = 0x0123456789abcdef * (i + size + at);
    masks[0] = 0x8000000100000001;
    __asm__ volatile("vmovdqu64 (%0), %%zmm16; vmovdqu64 64(%0), %%zmm17; vmovdqu64 128(%0), %%zmm18;"
                     "vmovdqu64 192(%0), %%zmm0; kmovq (%1), %%k1"
                     :
                     : "r"(wide), "r"(masks)
                     : "memory", "xmm0", "xmm16", "xmm17", "xmm18", "k1");
    touch(size, at);
    static unsigned long now[4][8];
    __asm__ volatile("vmovdqu64 %%zmm16, (%0); vmovdqu64 %%zmm17, 64(%0); vmovdqu64 %%zmm18, 128(%0);"
                     "vmovdqu64 %%zmm0, 192(%0); kmovq %%k1, 8(%1); vzeroupper"
                     :
                     : "r"(now), "r"(masks)
                     : "memory");
    return (memcmp(now, wide, sizeof now) != 0) + (masks[0] != masks[1]);
}

static unsigned char bits[MOST + 256];

__attribute__((noinline)) static unsigned defined_in(unsigned long size) {
    unsigned n = 0;
    char *p = __builtin_alloca(size);
    if (VALGRIND_GET_VBITS(p, bits, size) != 1) return ~0u;
    for (unsigned long i = 0; i < size; i++) n += bits[i] == 0;
    return n;
}

int main(void) {
    static const unsigned large[] = {1000, 1016, 1024, 4000, 4088, 8184, 8192, 8200, 12000, 65528, 65536, 65544, MOST};
    char above[64];
    unsigned wrong = 0, at = 0;
    memset(above, 7, sizeof above);
    for (unsigned k = 0; k < 90 + sizeof large / sizeof large[0]; k++) {
        unsigned size = k < 90 ? 8 * k + (k % 3 == 0) : large[k - 90];
        for (unsigned words = 20; words < 22; words++) { /* at a multiple of 16 and not */
            fill(size, words);
            unsigned n = defined_in(size + 256);
            if (n && !wrong++) at = size;
        }
    }
    int is_wide = __builtin_cpu_supports("avx512bw"), has_halves = __builtin_cpu_supports("avx2");
    for (unsigned k = 0; k < 40; k++) {
        unsigned size = 8 * (66 + 37 * k);
        for (unsigned place = 0; place < size + size / 61; place += size / 61) {
            unsigned to = place < size ? place : size - 1;
            if (has_halves) wrong += touch_halves(size, to);
            if (is_wide)
                wrong += touch_wide(size, to);
            else
                touch(size, to);
            if (defined_in(size + 256) && !wrong++) at = size;
        }
    }
    for (unsigned size = 0; size < 3000; size += size / 2 + 8) {
        for (unsigned distance = 1; distance <= 128; distance++) {
            below(size, distance);
            if (defined_in(size + 384) && !wrong++) at = size;
        }
    }
    for (unsigned i = 0; i < sizeof above; i++) wrong += above[i] != 7;
    fprintf(stderr, "%u wrong, the first of %u bytes\n", wrong, at);
    return wrong != 0;
}
