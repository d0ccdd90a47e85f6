/* 32-bit addresses (prefix 67): the upper halves of their registers count for nothing, and sums wrap at 4 GiB. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define TOP 0xfffff000u
#define JUNK 0xdead0000f00d0000ull /* without its lower half */
#define HIGH(p) ((uint64_t)(uintptr_t)(p) | 0xabcd000100000000ull)

static void strings(char *low) {
    for (int back = 0; back < 2; back++) {
        uint64_t from = HIGH(low + (back ? 63 : 0)), to = HIGH(low + 512 + (back ? 63 : 0)), n = 0x700000040;
        memset(low + 512, 0, 64);
        if (back) __asm__ volatile("std");
        __asm__ volatile("addr32 rep movsb; cld" : "+S"(from), "+D"(to), "+c"(n)::"memory");
        printf("movs %llx %llx %llx %d\n", (long long)from, (long long)to, (long long)n, memcmp(low, low + 512, 64));
        from = HIGH(low), to = HIGH(low + 512), n = 0x900000008;
        __asm__ volatile("addr32 repe cmpsq" : "+S"(from), "+D"(to), "+c"(n)::"memory", "cc");
        printf("cmps %llx %llx %llx\n", (long long)from, (long long)to, (long long)n);
        to = HIGH(low + 1024 + (back ? 60 : 0)), n = 0x100000010;
        if (back) __asm__ volatile("std");
        __asm__ volatile("addr32 rep stosl; cld" : "+D"(to), "+c"(n) : "a"(0x01020304) : "memory");
        printf("stos %llx %llx %x\n", (long long)to, (long long)n, *(unsigned *)(low + 1028));
        to = HIGH(low + 1024), n = 0xf00000040;
        __asm__ volatile("addr32 repne scasb" : "+D"(to), "+c"(n) : "a"(1) : "memory", "cc");
        printf("scas %llx %llx\n", (long long)to, (long long)n);
        uint64_t a = 0;
        from = HIGH(low + 3);
        __asm__ volatile("addr32 lodsb" : "+S"(from), "+a"(a)::"memory");
        printf("lods %llx %llx\n", (long long)from, (long long)a);
        from = HIGH(low), to = HIGH(low + 512);
        __asm__ volatile("addr32 movsq" : "+S"(from), "+D"(to)::"memory");
        printf("movsq %llx %llx\n", (long long)from, (long long)to);
    }
    uint64_t n = 0xffffffff00000000, from = HIGH(low), to = HIGH(low);
    __asm__ volatile("addr32 rep movsb" : "+S"(from), "+D"(to), "+c"(n)::"memory");
    printf("none %llx %llx %llx\n", (long long)from, (long long)to, (long long)n);
}

static void operands(char *low) {
    uint64_t v = 0, base = HIGH(low), index = 0x5500000000000004;
    __asm__ volatile("mov (%k1), %0" : "=r"(v) : "r"(base));
    printf("%llx", (long long)v);
    __asm__ volatile("mov 8(%k1,%k2,4), %0" : "=r"(v) : "r"(base), "r"(index));
    printf(" %llx", (long long)v);
    __asm__ volatile("movb $0x77, 3(%k0)" : : "r"(base) : "memory");
    __asm__ volatile("addl $5, (%k0,%k1)" : : "r"(base), "r"(index) : "memory", "cc");
    __asm__ volatile("lea -8(%k1,%k2), %0" : "=r"(v) : "r"(base), "r"(index));
    printf(" %llx", (long long)v);
    __asm__ volatile("movups (%k1), %%xmm0; movups %%xmm0, 32(%k1); movq %%xmm0, %0" : "=r"(v) : "r"(base) : "memory", "xmm0");
    printf(" %llx\n", (long long)v);
    base -= 0x40;
    __asm__ volatile("xor %%eax, %%eax; addr32 xlatb" : "=a"(v) : "b"(base + 0x45));
    __asm__ volatile("mov $0x12, %%al; addr32 xlatb" : "+a"(v) : "b"(base + 0x45));
    printf("%llx", (long long)v);
    __asm__ volatile("pcmpeqb %%xmm1, %%xmm1; pxor %%xmm0, %%xmm0; addr32 maskmovdqu %%xmm1, %%xmm0" : : "D"(base + 0x60) : "memory", "xmm0", "xmm1");
    v = 0;
    __asm__ volatile("1: inc %0; addr32 loop 1b" : "+r"(v) : "c"(0x500000003) : "cc");
    printf(" %lld\n", (long long)v);
    __asm__ volatile("push (%k1); pop %0" : "=r"(v) : "r"(base + 0x40));
    printf("%llx\n", (long long)v);
    __asm__ volatile("push $5; popq 0x100(%k0)" : : "r"(base) : "memory");
}

/* From the last bytes below 4 GiB to the first page, which is not there: all must stay below. */
static void around(char *top) {
    uint64_t v = 0, base = 0x1000, minus = 0x7ffffffffffff000;
    memset(top, 3, 4096);
    __asm__ volatile("mov -0x800(%k1,%k2), %0" : "=r"(v) : "r"(base), "r"(minus));
    printf("%llx\n", (long long)v);
    for (int i = 0; i < 64; i += 8) {
        base = TOP + 4096 - 8 - (unsigned)i;
        __asm__ volatile("mov (%k1), %0; mov %0, (%k1); addl $1, (%k1)" : "=&r"(v) : "r"(base | JUNK << 32) : "memory", "cc");
        __asm__ volatile("addr32 movb $1, 0xffffffff");
    }
    __asm__ volatile("mov $0xffffffc0, %%eax; movups (%%eax), %%xmm0; movups %%xmm0, 0x30(%%eax)" : : : "rax", "xmm0", "memory");
    __asm__ volatile("movl $0xfffffff0, %%eax; addr32 movq $1, 8(%%eax)" : : : "rax", "memory");
    printf("%d %d\n", top[4095], top[4000]);
}

int main(void) {
    char *low = mmap((void *)0x2000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    for (int i = 0; i < 4096; i++) low[i] = (char)i;
    strings(low);
    operands(low);
    char *top = mmap((void *)(uintptr_t)TOP, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (top == (char *)(uintptr_t)TOP) around(top);
    return 0;
}
