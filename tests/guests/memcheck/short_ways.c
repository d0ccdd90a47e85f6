/* Frequent instructions on undefined data are settled with little; while DF is set they take the long way (as everything
 * does that is rare).  Both must come to the same V bits, of results and of each condition. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "valgrind/memcheck.h"

struct operands {
    uint64_t a, b, memory;
};
struct results {
    uint64_t a, memory;
    uint8_t conditions[16];
};

#define CONDITION(n, cc) "set" cc " 16+" #n "(%1); "
#define CONDITIONS                                                                                                     \
    CONDITION(0, "o")                                                                                                  \
    CONDITION(1, "no")                                                                                                 \
    CONDITION(2, "b") CONDITION(3, "ae") CONDITION(4, "z") CONDITION(5, "nz") CONDITION(6, "be") CONDITION(7, "a")     \
        CONDITION(8, "s") CONDITION(9, "ns") CONDITION(10, "p") CONDITION(11, "np") CONDITION(12, "l")                 \
            CONDITION(13, "ge") CONDITION(14, "le") CONDITION(15, "g")

/* The carry that inc and dec keep, and OF, are what comparing the operands leaves. */
#define WAY(name, before, text, after)                                                                                 \
    static void name(const struct operands *in, struct results *out) {                                                 \
        __asm__ volatile("mov (%0), %%rax; mov 8(%0), %%rdx; mov 16(%0), %%rcx; mov %%rcx, 8(%1); cmp %%rdx, %%rax; "  \
                         before text "; " after CONDITIONS "mov %%rax, (%1)"                                           \
                         :                                                                                             \
                         : "r"(in), "r"(out)                                                                           \
                         : "rax", "rcx", "rdx", "cc", "memory");                                                       \
    }
#define BOTH(number, text)                                                                                             \
    WAY(short_##number, "", text, "")                                                                                  \
    WAY(long_##number, "std; ", text, "cld; ")

#define EACH(X)                                                                                                        \
    X(0, "add %%rdx, %%rax")                                                                                           \
    X(1, "sub %%edx, %%eax")                                                                                           \
    X(2, "and %%dx, %%ax")                                                                                             \
    X(3, "or %%dl, %%al")                                                                                              \
    X(4, "xor %%rdx, %%rax")                                                                                           \
    X(5, "cmp %%edx, %%eax")                                                                                           \
    X(6, "test %%rdx, %%rax")                                                                                          \
    X(7, "addl $0x7fffffff, %%eax")                                                                                    \
    X(8, "andb $0xf8, 8(%1)")                                                                                          \
    X(9, "orl $0x80, 8(%1)")                                                                                           \
    X(10, "xorq %%rdx, 8(%1)")                                                                                         \
    X(11, "addw $-3, 8(%1)")                                                                                           \
    X(12, "subl %%edx, 8(%1)")                                                                                         \
    X(13, "cmpb %%dl, 8(%1)")                                                                                          \
    X(14, "testl $0x10001, 8(%1)")                                                                                     \
    X(15, "addq 8(%1), %%rax")                                                                                         \
    X(16, "inc %%eax")                                                                                                 \
    X(17, "decb %%al")                                                                                                 \
    X(18, "incl 8(%1)")                                                                                                \
    X(19, "decq 8(%1)")                                                                                                \
    X(20, "shl $1, %%eax")                                                                                             \
    X(21, "shl $7, %%rax")                                                                                             \
    X(22, "shr $3, %%ax")                                                                                              \
    X(23, "sar $1, %%rax")                                                                                             \
    X(24, "sar $9, %%al")                                                                                              \
    X(25, "shrl $5, 8(%1)")                                                                                            \
    X(26, "shlb $1, 8(%1)")                                                                                            \
    X(27, "shl $0, %%eax")                                                                                             \
    X(28, "shl %%cl, %%eax")                                                                                           \
    X(29, "lea 5(%%rax,%%rdx,4), %%rax")                                                                               \
    X(30, "movzbl %%al, %%eax")                                                                                        \
    X(31, "movsbq %%al, %%rax")                                                                                        \
    X(32, "neg %%eax")                                                                                                 \
    X(33, "not %%rax")                                                                                                 \
    X(34, "adc %%edx, %%eax")                                                                                          \
    X(35, "sbb %%rdx, %%rax")                                                                                          \
    X(36, "notl 8(%1)")                                                                                                \
    X(37, "imul %%edx, %%eax")

EACH(BOTH)

#define ROW(number, text) {text, {short_##number, long_##number}},
static const struct {
    const char *text;
    void (*ways[2])(const struct operands *, struct results *);
} rows[] = {EACH(ROW)};

static uint64_t state = 1;
static uint64_t next(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

/* Few bits, many, whole bytes, none; values near the ends, too. */
static uint64_t bits(void) {
    switch (next() % 6) {
    case 0: return 0;
    case 1: return 1ull << next() % 64;
    case 2: return next() & next() & next();
    case 3: return 0xffull << 8 * (next() % 8);
    case 4: return ~0ull;
    default: return next();
    }
}

int main(void) {
    int different = 0;
    for (unsigned row = 0; row < sizeof rows / sizeof *rows; row++)
        for (int turn = 0; turn < 400; turn++) {
            struct operands in = {bits(), bits(), bits()}, undefined = {bits(), bits(), bits()};
            if (!strncmp(rows[row].text, "shl %%cl", 8)) undefined.memory &= ~0xffull;
            struct results out[2], v[2];
            memset(out, 0, sizeof out);
            (void)VALGRIND_SET_VBITS(&in, &undefined, sizeof in);
            for (int way = 0; way < 2; way++) {
                rows[row].ways[way](&in, &out[way]);
                memset(&v[way], 0, sizeof v[way]);
                (void)VALGRIND_GET_VBITS(&out[way], &v[way], sizeof out[way]);
            }
            VALGRIND_MAKE_MEM_DEFINED(out, sizeof out);
            if (memcmp(&out[0], &out[1], sizeof *out)) continue; /* OF where the CPU chooses it */
            if (memcmp(&v[0], &v[1], sizeof *v) && different++ < 20) {
                VALGRIND_MAKE_MEM_DEFINED(&in, sizeof in);
                printf("%s: a %llx (%llx) b %llx (%llx) memory %llx (%llx): %llx, %llx and %llx, %llx\n", rows[row].text,
                       (unsigned long long)in.a, (unsigned long long)undefined.a, (unsigned long long)in.b,
                       (unsigned long long)undefined.b, (unsigned long long)in.memory,
                       (unsigned long long)undefined.memory, (unsigned long long)v[0].a,
                       (unsigned long long)v[0].memory, (unsigned long long)v[1].a, (unsigned long long)v[1].memory);
                for (int i = 0; i < 16; i++)
                    if (v[0].conditions[i] != v[1].conditions[i])
                        printf("  condition %d: %x and %x\n", i, v[0].conditions[i], v[1].conditions[i]);
            }
        }
    printf("%d different\n", different);
    return 0;
}
