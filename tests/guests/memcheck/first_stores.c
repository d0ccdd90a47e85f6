/* The first stores to undefined bytes, of each size: they and no others become defined, and registers and flags stay.
 * In heap blocks at every place in a word, on the stack, below it, by a segment; then partly behind a block. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

typedef unsigned char u8;
typedef unsigned long u64;

#define AREA  128
#define BELOW 96 /* bytes from 112 below RSP on */
#define STR(x) #x
#define TEXT(x) STR(x)

__attribute__((used)) static u64 value[8] = {0x0123456789abcdef, 0x1122334455667788, 3, 4, 5, 6, 7, 8}, after[6];
__attribute__((used)) static u8 *copied;

/* To RDI with the flags of RSI: what RAX, RBX, RCX, RDX, RSI and the flags are behind it.  RSP is as at the entry. */
#define BEGIN                                                                                                          \
    "mov %rbx, %r9; push %rsi; popf; mov $0x1111111111111111, %rax; mov $0x2222222222222222, %rbx;"                    \
    "mov $0x3333333333333333, %rcx; mov $0x4444444444444444, %rdx; mov $0x5555555555555555, %rsi;"                     \
    "mov value(%rip), %r8; fld1;"
#define END                                                                                                            \
    "; mov %rax, after(%rip); mov %rbx, after+8(%rip); mov %rcx, after+16(%rip); mov %rdx, after+24(%rip);"            \
    "mov %rsi, after+32(%rip); lahf; seto %al; movzwl %ax, %eax; mov %rax, after+40(%rip); mov %r9, %rbx;"             \
    "mov copied(%rip), %rdi; test %rdi, %rdi; jz 2f; xor %ecx, %ecx;"                                                  \
    "1: mov -112(%rsp,%rcx), %rax; mov %rax, (%rdi,%rcx); add $8, %ecx; cmp $" TEXT(BELOW) ", %ecx; jb 1b;"            \
    "2: ffree %st(0); fincstp; ret"
#define DEAD "; test %rdi, %rdi"

#define STORES(name, vector, insn, more)                                                                               \
    static __attribute__((naked, noinline)) void name##_flags(u8 *to, u64 flags) {                                     \
        __asm__(vector BEGIN insn "(%rdi)" more END);                                                                  \
    }                                                                                                                  \
    static __attribute__((naked, noinline)) void name(u8 *to, u64 flags) {                                             \
        __asm__(vector BEGIN insn "(%rdi)" more DEAD END);                                                             \
    }                                                                                                                  \
    static __attribute__((naked, noinline)) void name##_below(u8 *to, u64 flags) {                                     \
        __asm__("lea -80(%rsp), %rdi;" vector BEGIN insn "(%rdi)" more END);                                           \
    }                                                                                                                  \
    static __attribute__((naked, noinline)) void name##_segment(u8 *to, u64 flags) {                                   \
        __asm__("sub %fs:0, %rdi;" vector BEGIN insn "%fs:(%rdi)" more END);                                           \
    }
STORES(store1, "", "movb %r8b, ", "")
STORES(store2, "", "movw %r8w, ", "")
STORES(store4, "", "movl %r8d, ", "")
STORES(store8, "", "movq %r8, ", "")
STORES(store10, "", "fstpt ", "; fld1")
STORES(store16, "movups value(%rip), %xmm0;", "movups %xmm0, ", "")
STORES(store32, "vmovups value(%rip), %ymm0;", "vmovups %ymm0, ", "; vzeroupper")
STORES(store64, "vmovups value(%rip), %zmm0;", "vmovups %zmm0, ", "; vzeroupper")

static const struct {
    unsigned size;
    void (*kept)(u8 *, u64), (*dead)(u8 *, u64), (*below)(u8 *, u64), (*segment)(u8 *, u64);
} stores[] = {
#define S(n) {n, store##n##_flags, store##n, store##n##_below, store##n##_segment}
    S(1), S(2), S(4), S(8), S(10), S(16), S(32), S(64),
};

#define UNLESS(is, what, ...)                                                                                          \
    if (!(is)) fprintf(stderr, "%s, %u bytes: " what "\n", where, size, __VA_ARGS__)

/* Of the n bytes of area, size at at were stored. */
static void expect(const char *where, unsigned size, unsigned at, unsigned n, const u8 *area, u64 flags) {
    static const u8 one[10] = {0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f};
    u8 v[AREA] = {0};
    VALGRIND_GET_VBITS(area, v, n);
    for (unsigned i = 0; i < n; i++)
        UNLESS(v[i] == (i >= at && i < at + size ? 0 : 0xff), "V of %d is %02x", (int)(i - at), v[i]);
    UNLESS(!memcmp(area + at, size == 10 ? (const void *)one : value, size), "%s", "not stored");
    for (u64 i = 0; i < 5; i++)
        UNLESS(after[i] == 0x1111111111111111 * (i + 1), "register %d is %lx", (int)i, after[i]);
    if (flags != ~0ul)
        UNLESS(after[5] == (((flags & 0xd5) | 2) << 8) + (flags >> 11 & 1), "%lx are flags, not %lx", after[5], flags);
}

static void all(const char *where, u8 *area) {
    static u8 below[BELOW];
    static const u64 flags[] = {0x202, 0xad7, 0x212, 0xa02, 0x2c5};
    for (unsigned k = 0; k < sizeof stores / sizeof *stores; k++) {
        unsigned n = stores[k].size;
        if (n == 32 && !__builtin_cpu_supports("avx")) continue;
        if (n == 64 && !__builtin_cpu_supports("avx512f")) continue; /* Valgrind has none */
        for (unsigned at = 32; at < 41; at++)
            for (unsigned f = 0; f < 5; f++) {
                VALGRIND_MAKE_MEM_UNDEFINED(area, AREA);
                stores[k].kept(area + at, flags[f]);
                expect(where, n, at, AREA, area, flags[f]);
                VALGRIND_MAKE_MEM_UNDEFINED(area, AREA);
                stores[k].dead(area + at, flags[f]);
                expect(where, n, at, AREA, area, ~0ul);
                VALGRIND_MAKE_MEM_UNDEFINED(area, AREA);
                stores[k].segment(area + at, flags[f]);
                expect(where, n, at, AREA, area, flags[f]);
            }
        copied = below;
        stores[k].below(NULL, flags[k % 5]);
        expect("below", n, 32, BELOW, copied, flags[k % 5]);
        copied = NULL;
    }
}

int main(void) {
    u8 *heap = malloc(AREA), stack[AREA], *large = malloc(1 << 20);
    all("heap", heap);
    all("stack", stack);
    all("at a chunk's end", (u8 *)(((u64)large + 0x7ffff) & ~0x3fffful) - 0x15840 - 40);
    for (unsigned k = 1; k < sizeof stores / sizeof *stores - 1; k++) {
        if (stores[k].size == 10) continue; /* Valgrind has it in two */
        u8 *last = malloc(20);
        stores[k].kept(last + 20 - stores[k].size / 2, 0x202);
        stores[k].dead(last + 20 - stores[k].size / 2, 0x202);
        free(last);
    }
    free(heap), free(large);
    return 0;
}
