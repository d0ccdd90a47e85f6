/* The fixed address ranges that AddressSanitizer, MemorySanitizer and ThreadSanitizer reserve at their start. */
// modes: default
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

static const struct {
    const char *whose;
    unsigned long lo, hi;
} ranges[] = {
    {"address: shadow", 0x7fff7000, 0x10007fff8000},
    {"address: heap", 0x600000000000, 0x640000000000},
    {"memory: shadow", 0x010000000000, 0x100000000000},
    {"memory: origins", 0x110000000000, 0x200000000000},
    {"memory: gap", 0x400000000000, 0x500000000000},
    {"memory: second shadow", 0x500000000000, 0x510000000000},
    {"memory: second gap", 0x610000000000, 0x700000000000},
    {"thread: shadow", 0x100000000000, 0x380000000000},
    {"thread: gap", 0x400000000000, 0x550000000000},
    {"thread: heap", 0x7b0000000000, 0x7c0000000000},
};

int main(void) {
    for (unsigned i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        size_t bytes = ranges[i].hi - ranges[i].lo;
        char *p = mmap((void *)ranges[i].lo, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        printf("%s: %d\n", ranges[i].whose, p == (char *)ranges[i].lo);
        if (p == MAP_FAILED)
            continue;
        p[0] = p[bytes / 2] = p[bytes - 1] = 1;
        munmap(p, bytes);
    }
    return 0;
}
