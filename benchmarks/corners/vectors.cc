#include <immintrin.h>
extern "C" {
#include "corners.h"
#include <fenv.h>
#include <math.h>
}
namespace {

#define OVER for (long i = 0; i < n; i++)
alignas(64) unsigned char bytes[1 << 16];
alignas(64) int words[1 << 14];

__attribute__((target("avx2"))) void gathers(long n) {
    __m256i at = _mm256_set_epi32(1, 1000, 30, 4000, 55, 6000, 700, 8000), sum = _mm256_setzero_si256();
    OVER sum = _mm256_add_epi32(sum, _mm256_i32gather_epi32(words, at, 4));
    must(_mm256_testz_si256(sum, sum));
}

__attribute__((target("avx512f"))) void do_scatters(long n) {
    __m512i at = _mm512_set_epi32(1, 1000, 30, 4000, 55, 6000, 700, 8000, 2, 2000, 60, 5000, 77, 7000, 900, 9000);
    OVER _mm512_i32scatter_epi32(words, at, _mm512_set1_epi32(static_cast<int>(i)), 4);
}

void scatters(long n) {
    if (__builtin_cpu_supports("avx512f")) do_scatters(n);
}

__attribute__((target("aes,sse4.2,pclmul"))) void crypto(long n) {
    __m128i block = _mm_set1_epi32(1), key = _mm_set1_epi32(77);
    unsigned long crc = 0;
    OVER {
        for (int k = 0; k < 10; k++) block = _mm_aesenc_si128(block, key);
        block = _mm_xor_si128(block, _mm_clmulepi64_si128(block, key, 1));
        crc = _mm_crc32_u64(crc, static_cast<unsigned long>(i));
    }
    _mm_store_si128(reinterpret_cast<__m128i *>(bytes), block);
    must(crc != 1);
}

__attribute__((target("avx2"))) void shuffles(long n) {
    __m256i x = _mm256_set1_epi32(3), mask = _mm256_set1_epi8(5);
    OVER {
        x = _mm256_shuffle_epi8(x, mask);
        x = _mm256_permute4x64_epi64(x, 0x1b);
        x = _mm256_add_epi8(x, _mm256_unpacklo_epi8(x, mask));
        mask = _mm256_blendv_epi8(mask, x, _mm256_cmpgt_epi8(x, mask));
    }
    _mm256_store_si256(reinterpret_cast<__m256i *>(bytes), x);
}

__attribute__((target("avx2"))) void unaligned(long n) {
    __m256i sum = _mm256_setzero_si256();
    OVER sum = _mm256_add_epi8(
        sum, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(bytes + (i & 15) * 4096 + 4096 - 16)));
    _mm256_store_si256(reinterpret_cast<__m256i *>(bytes), sum);
}

void unaligned_words(long n) {
    unsigned long sum = 0;
    OVER {
        unsigned long one;
        memcpy(&one, bytes + (i % 15) * 4096 + 4096 - 3, 8);
        sum += one;
        memcpy(bytes + (i % 15) * 4096 + 4096 - 5, &sum, 8);
    }
    must(sum != 1);
}

void overlapping(long n) {
    OVER {
        memmove(bytes + i % 32, bytes + 16, static_cast<size_t>(i % 300));
        memmove(bytes + 40, bytes + i % 32, static_cast<size_t>(i % 300));
    }
}

void sets(long n) { OVER memset(bytes + i % 64, static_cast<int>(i), static_cast<size_t>(i % 400)); }

void rep_sizes(long n) {
    OVER {
        void *to = bytes, *from = bytes + 32768;
        size_t count = static_cast<size_t>(i % 64);
        asm volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(1) : "memory");
        count = static_cast<size_t>(i % 40);
        asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    }
}

void rep_scan(long n) {
    memset(bytes, 1, sizeof bytes);
    OVER {
        void *at = bytes, *from = bytes + 32768;
        size_t count = 100 + i % 50;
        asm volatile("repne scasb" : "+D"(at), "+c"(count) : "a"(0) : "memory", "cc");
        at = bytes, count = 50;
        asm volatile("repe cmpsb" : "+D"(at), "+S"(from), "+c"(count) : : "memory", "cc");
    }
}

void rep_large(long n) {
    OVER {
        void *to = bytes;
        size_t count = 65536;
        asm volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(1) : "memory");
    }
}

void x87_functions(long n) {
    volatile long double sum = 0;
    OVER {
        long double x = static_cast<long double>(i) / 1000, y;
        asm volatile("fsin" : "=t"(y) : "0"(x));
        sum = sum + y;
        asm volatile("fsqrt" : "=t"(y) : "0"(x));
        asm volatile("fpatan" : "=t"(y) : "0"(x), "u"(y) : "st(1)");
        sum = sum + y;
    }
}

void x87_state(long n) {
    fenv_t environment;
    OVER {
        fegetenv(&environment);
        fesetenv(&environment);
        fesetround(i & 1 ? FE_UPWARD : FE_TONEAREST);
    }
}

void x87_conversions(long n) {
    volatile long sum = 0;
    for (long i = 0; i < n; i++) sum = sum + llrintl(static_cast<long double>(i) * 1.5L);
}

void xsaves(long n) {
    alignas(64) static unsigned char area[8192];
    OVER asm volatile("xsave %0\nxrstor %0" : "+m"(area) : "a"(7), "d"(0));
}

void atomics_wide(long n) {
    alignas(16) static unsigned __int128 word;
    OVER asm volatile("lock cmpxchg16b %0" : "+m"(word) : "a"(0), "d"(0), "b"(0), "c"(0) : "cc");
}

void bit_tests(long n) {
    static unsigned long map[64];
    OVER {
        long at = i % 4096;
        asm volatile("bts %1,%0" : "+m"(map) : "r"(at) : "cc");
        asm volatile("btr %1,%0" : "+m"(map) : "r"(at) : "cc");
    }
}

void flags(long n) {
    OVER asm volatile(
        "pushf; pop %%rax; lahf; sahf; std; cld; adc %%rdx,%%rdx; rcl $3,%%rdx; cmpxchg %%rcx,%%rdx" :: : "rax", "rdx",
        "cc");
}

__attribute__((target("bmi,bmi2,lzcnt"))) void bit_counts(long n) {
    unsigned long sum = 1;
    OVER {
        unsigned long x = sum ^ static_cast<unsigned long>(i);
        sum += _pdep_u64(x, 0xff00ff00ff00ff) + _pext_u64(x, 0xf0f0f0f0f0) + _lzcnt_u64(x) + _tzcnt_u64(x) +
               _blsr_u64(x);
    }
    must(sum != 0);
}

} // namespace

extern "C" const struct corner vector_corners[] = {{"gathers", 1000000, gathers},
                                                   {"scatters", 1000000, scatters},
                                                   {"crypto", 1000000, crypto},
                                                   {"shuffles", 2000000, shuffles},
                                                   {"unaligned-32", 5000000, unaligned},
                                                   {"unaligned-8", 5000000, unaligned_words},
                                                   {"memmove-overlap", 1000000, overlapping},
                                                   {"memset-sizes", 2000000, sets},
                                                   {"rep-sizes", 300000, rep_sizes},
                                                   {"rep-scan", 100000, rep_scan},
                                                   {"rep-stosb-64K", 3000, rep_large},
                                                   {"x87-functions", 1000000, x87_functions},
                                                   {"x87-environment", 300000, x87_state},
                                                   {"x87-conversions", 5000000, x87_conversions},
                                                   {"xsave", 100000, xsaves},
                                                   {"cmpxchg16b", 5000000, atomics_wide},
                                                   {"bit-tests", 5000000, bit_tests},
                                                   {"flags", 3000000, flags},
                                                   {"bit-counts", 5000000, bit_counts},
                                                   {nullptr, 0, nullptr}};
