/* Each register by its name, for no instruction takes a number. */
#include "runtime/base/cpu.h"
#include "runtime/base/vectors.h"

static void store_zmm(u8 *p, unsigned r) {
    switch (r) {
    case 0: __asm__ volatile("vmovdqu64 %%zmm0, (%0)" : : "r"(p) : "memory"); break;
    case 1: __asm__ volatile("vmovdqu64 %%zmm1, (%0)" : : "r"(p) : "memory"); break;
    case 2: __asm__ volatile("vmovdqu64 %%zmm2, (%0)" : : "r"(p) : "memory"); break;
    case 3: __asm__ volatile("vmovdqu64 %%zmm3, (%0)" : : "r"(p) : "memory"); break;
    case 4: __asm__ volatile("vmovdqu64 %%zmm4, (%0)" : : "r"(p) : "memory"); break;
    case 5: __asm__ volatile("vmovdqu64 %%zmm5, (%0)" : : "r"(p) : "memory"); break;
    case 6: __asm__ volatile("vmovdqu64 %%zmm6, (%0)" : : "r"(p) : "memory"); break;
    case 7: __asm__ volatile("vmovdqu64 %%zmm7, (%0)" : : "r"(p) : "memory"); break;
    case 8: __asm__ volatile("vmovdqu64 %%zmm8, (%0)" : : "r"(p) : "memory"); break;
    case 9: __asm__ volatile("vmovdqu64 %%zmm9, (%0)" : : "r"(p) : "memory"); break;
    case 10: __asm__ volatile("vmovdqu64 %%zmm10, (%0)" : : "r"(p) : "memory"); break;
    case 11: __asm__ volatile("vmovdqu64 %%zmm11, (%0)" : : "r"(p) : "memory"); break;
    case 12: __asm__ volatile("vmovdqu64 %%zmm12, (%0)" : : "r"(p) : "memory"); break;
    case 13: __asm__ volatile("vmovdqu64 %%zmm13, (%0)" : : "r"(p) : "memory"); break;
    case 14: __asm__ volatile("vmovdqu64 %%zmm14, (%0)" : : "r"(p) : "memory"); break;
    case 15: __asm__ volatile("vmovdqu64 %%zmm15, (%0)" : : "r"(p) : "memory"); break;
    case 16: __asm__ volatile("vmovdqu64 %%zmm16, (%0)" : : "r"(p) : "memory"); break;
    case 17: __asm__ volatile("vmovdqu64 %%zmm17, (%0)" : : "r"(p) : "memory"); break;
    case 18: __asm__ volatile("vmovdqu64 %%zmm18, (%0)" : : "r"(p) : "memory"); break;
    case 19: __asm__ volatile("vmovdqu64 %%zmm19, (%0)" : : "r"(p) : "memory"); break;
    case 20: __asm__ volatile("vmovdqu64 %%zmm20, (%0)" : : "r"(p) : "memory"); break;
    case 21: __asm__ volatile("vmovdqu64 %%zmm21, (%0)" : : "r"(p) : "memory"); break;
    case 22: __asm__ volatile("vmovdqu64 %%zmm22, (%0)" : : "r"(p) : "memory"); break;
    case 23: __asm__ volatile("vmovdqu64 %%zmm23, (%0)" : : "r"(p) : "memory"); break;
    case 24: __asm__ volatile("vmovdqu64 %%zmm24, (%0)" : : "r"(p) : "memory"); break;
    case 25: __asm__ volatile("vmovdqu64 %%zmm25, (%0)" : : "r"(p) : "memory"); break;
    case 26: __asm__ volatile("vmovdqu64 %%zmm26, (%0)" : : "r"(p) : "memory"); break;
    case 27: __asm__ volatile("vmovdqu64 %%zmm27, (%0)" : : "r"(p) : "memory"); break;
    case 28: __asm__ volatile("vmovdqu64 %%zmm28, (%0)" : : "r"(p) : "memory"); break;
    case 29: __asm__ volatile("vmovdqu64 %%zmm29, (%0)" : : "r"(p) : "memory"); break;
    case 30: __asm__ volatile("vmovdqu64 %%zmm30, (%0)" : : "r"(p) : "memory"); break;
    case 31: __asm__ volatile("vmovdqu64 %%zmm31, (%0)" : : "r"(p) : "memory"); break;
    }
}
static void store_ymm(u8 *p, unsigned r) {
    switch (r) {
    case 0: __asm__ volatile("vmovdqu %%ymm0, (%0)" : : "r"(p) : "memory"); break;
    case 1: __asm__ volatile("vmovdqu %%ymm1, (%0)" : : "r"(p) : "memory"); break;
    case 2: __asm__ volatile("vmovdqu %%ymm2, (%0)" : : "r"(p) : "memory"); break;
    case 3: __asm__ volatile("vmovdqu %%ymm3, (%0)" : : "r"(p) : "memory"); break;
    case 4: __asm__ volatile("vmovdqu %%ymm4, (%0)" : : "r"(p) : "memory"); break;
    case 5: __asm__ volatile("vmovdqu %%ymm5, (%0)" : : "r"(p) : "memory"); break;
    case 6: __asm__ volatile("vmovdqu %%ymm6, (%0)" : : "r"(p) : "memory"); break;
    case 7: __asm__ volatile("vmovdqu %%ymm7, (%0)" : : "r"(p) : "memory"); break;
    case 8: __asm__ volatile("vmovdqu %%ymm8, (%0)" : : "r"(p) : "memory"); break;
    case 9: __asm__ volatile("vmovdqu %%ymm9, (%0)" : : "r"(p) : "memory"); break;
    case 10: __asm__ volatile("vmovdqu %%ymm10, (%0)" : : "r"(p) : "memory"); break;
    case 11: __asm__ volatile("vmovdqu %%ymm11, (%0)" : : "r"(p) : "memory"); break;
    case 12: __asm__ volatile("vmovdqu %%ymm12, (%0)" : : "r"(p) : "memory"); break;
    case 13: __asm__ volatile("vmovdqu %%ymm13, (%0)" : : "r"(p) : "memory"); break;
    case 14: __asm__ volatile("vmovdqu %%ymm14, (%0)" : : "r"(p) : "memory"); break;
    case 15: __asm__ volatile("vmovdqu %%ymm15, (%0)" : : "r"(p) : "memory"); break;
    }
}
static void store_xmm(u8 *p, unsigned r) {
    switch (r) {
    case 0: __asm__ volatile("movdqu %%xmm0, (%0)" : : "r"(p) : "memory"); break;
    case 1: __asm__ volatile("movdqu %%xmm1, (%0)" : : "r"(p) : "memory"); break;
    case 2: __asm__ volatile("movdqu %%xmm2, (%0)" : : "r"(p) : "memory"); break;
    case 3: __asm__ volatile("movdqu %%xmm3, (%0)" : : "r"(p) : "memory"); break;
    case 4: __asm__ volatile("movdqu %%xmm4, (%0)" : : "r"(p) : "memory"); break;
    case 5: __asm__ volatile("movdqu %%xmm5, (%0)" : : "r"(p) : "memory"); break;
    case 6: __asm__ volatile("movdqu %%xmm6, (%0)" : : "r"(p) : "memory"); break;
    case 7: __asm__ volatile("movdqu %%xmm7, (%0)" : : "r"(p) : "memory"); break;
    case 8: __asm__ volatile("movdqu %%xmm8, (%0)" : : "r"(p) : "memory"); break;
    case 9: __asm__ volatile("movdqu %%xmm9, (%0)" : : "r"(p) : "memory"); break;
    case 10: __asm__ volatile("movdqu %%xmm10, (%0)" : : "r"(p) : "memory"); break;
    case 11: __asm__ volatile("movdqu %%xmm11, (%0)" : : "r"(p) : "memory"); break;
    case 12: __asm__ volatile("movdqu %%xmm12, (%0)" : : "r"(p) : "memory"); break;
    case 13: __asm__ volatile("movdqu %%xmm13, (%0)" : : "r"(p) : "memory"); break;
    case 14: __asm__ volatile("movdqu %%xmm14, (%0)" : : "r"(p) : "memory"); break;
    case 15: __asm__ volatile("movdqu %%xmm15, (%0)" : : "r"(p) : "memory"); break;
    }
}

void rt_vector(u8 *p, unsigned r) {
    if (rt_cpu()->vectors == RT_ZMM)
        store_zmm(p, r);
    else if (rt_cpu()->vectors == RT_YMM)
        store_ymm(p, r);
    else
        store_xmm(p, r);
}

u64 rt_mask(unsigned r) {
    u64 v = 0, *p = &v;
    if (!rt_cpu()->wide_masks) {
        switch (r) {
        case 0: __asm__ volatile("kmovw %%k0, (%0)" : : "r"(p) : "memory"); break;
        case 1: __asm__ volatile("kmovw %%k1, (%0)" : : "r"(p) : "memory"); break;
        case 2: __asm__ volatile("kmovw %%k2, (%0)" : : "r"(p) : "memory"); break;
        case 3: __asm__ volatile("kmovw %%k3, (%0)" : : "r"(p) : "memory"); break;
        case 4: __asm__ volatile("kmovw %%k4, (%0)" : : "r"(p) : "memory"); break;
        case 5: __asm__ volatile("kmovw %%k5, (%0)" : : "r"(p) : "memory"); break;
        case 6: __asm__ volatile("kmovw %%k6, (%0)" : : "r"(p) : "memory"); break;
        case 7: __asm__ volatile("kmovw %%k7, (%0)" : : "r"(p) : "memory"); break;
        }
        return v & 0xffff;
    }
    switch (r) {
    case 0: __asm__ volatile("kmovq %%k0, (%0)" : : "r"(p) : "memory"); break;
    case 1: __asm__ volatile("kmovq %%k1, (%0)" : : "r"(p) : "memory"); break;
    case 2: __asm__ volatile("kmovq %%k2, (%0)" : : "r"(p) : "memory"); break;
    case 3: __asm__ volatile("kmovq %%k3, (%0)" : : "r"(p) : "memory"); break;
    case 4: __asm__ volatile("kmovq %%k4, (%0)" : : "r"(p) : "memory"); break;
    case 5: __asm__ volatile("kmovq %%k5, (%0)" : : "r"(p) : "memory"); break;
    case 6: __asm__ volatile("kmovq %%k6, (%0)" : : "r"(p) : "memory"); break;
    case 7: __asm__ volatile("kmovq %%k7, (%0)" : : "r"(p) : "memory"); break;
    }
    return v;
}
