/* V bits after moves, extensions, pushes and pops, where their source, target or flags were undefined before: in heap
 * blocks at every place in a word, on the stack, and below it.
 * @options: --partial-loads-ok=no */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

typedef unsigned char u8;
typedef unsigned long u64;

static u8 patterns[4][32], values[32], *junk;

static void show(const void *p, unsigned n) {
    u8 v[64] = {0};
    VALGRIND_GET_VBITS(p, v, n);
    fputc(' ', stderr);
    for (unsigned i = 0; i < n; i++)
        fprintf(stderr, "%02x", v[i]);
}

static void set(u8 *p, unsigned n, unsigned pattern) {
    VALGRIND_MAKE_MEM_DEFINED(p, n);
    memcpy(p, values, n);
    VALGRIND_SET_VBITS(p, patterns[pattern], n);
}

/* From memory to a register that is undefined, or defined, and from there to out. */
#define LOAD(name, insn, put)                                                                                          \
    static void name(const u8 *from, u64 before, u8 *out) {                                                            \
        __asm__ volatile("mov %1, %%rax; test %%rcx, %%rcx; " insn "; " put                                            \
                         :                                                                                             \
                         : "r"(from), "m"(before), "r"(out)                                                            \
                         : "rax", "r8", "xmm0", "memory", "cc");                                                       \
    }
LOAD(load8, "mov (%0), %%rax", "mov %%rax, (%2)")
LOAD(load4, "mov (%0), %%eax", "mov %%rax, (%2)")
LOAD(zx2_4, "movzwl (%0), %%eax", "mov %%rax, (%2)")
LOAD(zx1_8, "movzbq (%0), %%rax", "mov %%rax, (%2)")
LOAD(sx1_4, "movsbl (%0), %%eax", "mov %%rax, (%2)")
LOAD(sx1_8, "movsbq (%0), %%rax", "mov %%rax, (%2)")
LOAD(sx2_4, "movswl (%0), %%eax", "mov %%rax, (%2)")
LOAD(sx2_8, "movswq (%0), %%rax", "mov %%rax, (%2)")
LOAD(sx4_8, "movslq (%0), %%rax", "mov %%rax, (%2)")
LOAD(low1, "movb (%0), %%al", "mov %%rax, (%2)")
LOAD(low2, "movw (%0), %%ax", "mov %%rax, (%2)")
LOAD(keeps_flags, "cmp %%rsp, %%rsp; mov (%0), %%rax; jne 1f", "mov %%rax, (%2); 1:")
LOAD(to1, "mov (%0), %%rax", "movb %%al, (%2)")
LOAD(to2, "mov (%0), %%rax", "movw %%ax, (%2)")
LOAD(to4, "mov (%0), %%rax", "movl %%eax, (%2)")
LOAD(high1, "mov (%0), %%rax", "movb %%ah, (%2)")
LOAD(pushed, "mov (%0), %%rax; lea -128(%%rsp), %%rsp; push %%rax; mov $0, %%eax; pop %%rax; lea 128(%%rsp), %%rsp",
     "mov %%rax, (%2)")
LOAD(constant, "mov $5, %%eax", "mov %%rax, (%2)")
LOAD(address, "lea 8(%0), %%rax", "mov %%rax, (%2)")
LOAD(and_memory, "mov $0xff, %%r8d; and (%0), %%r8; xor %%eax, %%eax; or $1, %%eax; movzbl %%r8b, %%eax", "mov %%rax, (%2)")
LOAD(vector, "movq %%rax, %%xmm0; movups (%0), %%xmm0", "movups %%xmm0, (%2)")
LOAD(vector_low, "movq %%rax, %%xmm0; movdqu (%0), %%xmm0", "movq %%xmm0, (%2)")
LOAD(wide, "vmovq %%rax, %%xmm0; vmovdqu (%0), %%ymm0; vmovups %%ymm0, (%2)", "vzeroupper")
LOAD(wide_upper, "vmovdqu (%0), %%ymm0; movups 16(%0), %%xmm0; vmovups %%ymm0, (%2)", "vzeroupper")
LOAD(wide_cleared, "vmovdqu (%0), %%ymm0; vmovups (%0), %%xmm0; vmovups %%ymm0, (%2)", "vzeroupper")

static const struct {
    const char *name;
    void (*run)(const u8 *, u64, u8 *);
    int wide;
} moves[] = {
#define M(name) {#name, name, 0}
#define W(name) {#name, name, 1}
    M(load8),  M(load4),  M(zx2_4),    M(zx1_8),   M(sx1_4),      M(sx1_8),      M(sx2_4), M(sx2_8),      M(sx4_8),
    M(low1),   M(low2),   M(keeps_flags), M(to1),  M(to2),        M(to4),        M(high1), M(pushed),     M(constant),
    M(address), M(and_memory), M(vector), M(vector_low), W(wide), W(wide_upper), W(wide_cleared)};

static void all(const char *place, u8 *from, u8 *out) {
    for (unsigned k = 0; k < sizeof moves / sizeof *moves; k++) {
        if (moves[k].wide && !__builtin_cpu_supports("avx")) continue;
        fprintf(stderr, "%s %s", place, moves[k].name);
        for (unsigned pattern = 0; pattern < 4; pattern++)
            for (int twice = 0; twice < 2; twice++) {
                u64 before = twice ? *(u64 *)junk : 7;
                set(from, 32, pattern);
                set(out, 32, 0);
                moves[k].run(from, before, out);
                if (twice) show(out, moves[k].wide ? 32 : 16);
            }
        fprintf(stderr, "\n");
    }
}

/* What a leaf function keeps below its stack pointer is undefined after the next call. */
static __attribute__((noinline)) void nothing(void) {}
static void below(u64 what, u8 *out) {
    __asm__ volatile("mov %1, %%rax; mov %%rax, -64(%%rsp); mov -64(%%rsp), %%rcx; mov %%rcx, (%0);"
                     "movb $1, -100(%%rsp); mov %%al, -99(%%rsp); movzwl -100(%%rsp), %%ecx; mov %%rcx, 8(%0)"
                     :
                     : "r"(out), "m"(what)
                     : "rax", "rcx", "memory");
    nothing();
    __asm__ volatile("lea -128(%%rsp), %%rsp; mov 64(%%rsp), %%rax; mov %%rax, 16(%0); lea 128(%%rsp), %%rsp"
                     :
                     : "r"(out)
                     : "rax", "memory");
}

int main(void) {
    u8 *heap = malloc(128), *out = malloc(64), stack[96], kept[64], *last;
    junk = malloc(8);
    for (unsigned i = 0; i < 32; i++) {
        values[i] = (u8)(i * 37 + 11);
        patterns[1][i] = 0xff;
        patterns[2][i] = (u8)(i % 3 ? 0 : 0x80 >> i % 8);
        patterns[3][i] = (u8)(i % 4 == 1 ? 0x81 : 0);
    }
    for (unsigned at = 0; at < 9; at++) {
        char place[16];
        sprintf(place, "heap+%u", at);
        all(place, heap + at, out + 9 - at);
    }
    all("stack", stack, stack + 48);
    all("stack+3", stack + 3, kept + 5);
    set(kept, 32, 0);
    below(*(u64 *)junk, kept);
    fprintf(stderr, "below");
    show(kept, 24);
    fprintf(stderr, "\n");
    /* Partly behind the block: read and written, defined and undefined. */
    last = malloc(20);
    VALGRIND_MAKE_MEM_UNDEFINED(last, 20);
    load8(last + 16, 1, out);
    load8(out + 3, 1, last + 16);
    vector(last + 8, 1, out);
    vector(out, 1, last + 8);
    free(last);
    load4(last, 1, out);
    free(heap), free(out), free(junk);
    return 0;
}
