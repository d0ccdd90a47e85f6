#include <immintrin.h>
#include <stdio.h>
static int has;
__attribute__((target("avx512f,avx512bw,avx512dq"))) static int wide(void) {
    unsigned long k = 0;
    long low = 0;
    __asm__ volatile("mov $0x5a5a, %%eax\n\t"
                     "kmovq %%rax, %%k3\n\t"
                     "mov $7, %%eax\n\t"
                     "vpbroadcastq %%rax, %%zmm3\n\t"
                     "vpbroadcastq %%rax, %%zmm20\n\t"
                     "here: kmovq %%k4, %0\n\t"
                     "vextracti64x4 $1, %%zmm21, %%ymm5\n\t"
                     "vextracti128 $1, %%ymm5, %%xmm5\n\t"
                     "vpextrq $1, %%xmm5, %1"
                     : "=r"(k), "=r"(low) : : "rax", "xmm3", "xmm5", "xmm20", "xmm21", "k3", "k4");
    printf("k4 %lx zmm21 %ld\n", k, low);
    return 0;
}
int main(void) { return __builtin_cpu_supports("avx512bw") ? wide() : 0; }
