/* No error: an aligned load of 64 bytes that begins in a block and ends behind it, as the C library's
 * string functions for AVX-512 do; the bytes inside are defined.
 * @options: -q --leak-check=no */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static unsigned char out[64];

__attribute__((target("avx512f"))) static void load64(const char *p) {
    __asm__ volatile("vmovdqu64 %1, %%zmm16\n\t"
                     "vmovdqu64 %%zmm16, %0"
                     : "=m"(out)
                     : "m"(*(const char(*)[64])p)
                     : "xmm16");
}

int main(void) {
    if (!__builtin_cpu_supports("avx512f"))
        return 0;
    int result = 0;
    for (size_t n = 1; n < 64; n++) {
        char *p = memalign(64, 64 + n);
        memset(p, 1, 64 + n);
        load64(p + 64);
        for (size_t i = 0; i < n; i++)
            result |= out[i] != 1;
        free(p);
    }
    return result;
}
