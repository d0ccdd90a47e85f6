// What XSAVE has on this CPU: XCR0, and of each component its number, size, offset, and whether it is aligned.
#include <cpuid.h>
#include <stdio.h>

int main(void) {
    unsigned low, high, size, offset, flags, d;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    printf("%llu", (unsigned long long)high << 32 | low);
    for (unsigned i = 2; i < 63; i++) {
        if (!(((unsigned long long)high << 32 | low) >> i & 1)) continue;
        __cpuid_count(13, i, size, offset, flags, d);
        printf(" %u %u %u %u", i, size, offset, flags >> 1 & 1);
    }
    puts("");
    return 0;
}
