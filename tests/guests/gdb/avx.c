#include <stdio.h>
__attribute__((target("avx2"))) static void wide(void) {
    long high = 0;
    __asm__ volatile("vpcmpeqd %%ymm1, %%ymm1, %%ymm1\n\t"
                     "here: vextracti128 $1, %%ymm2, %%xmm3\n\t"
                     "vmovq %%xmm3, %0" : "=r"(high) : : "xmm1", "xmm2", "xmm3");
    printf("high %ld\n", high);
}
int main(void) {
    if (__builtin_cpu_supports("avx2")) wide();
    return 0;
}
