/* Frequent instructions on undefined data are settled with little; while DF is set they take the long way (as everything
 * does that is rare).  Both must come to the same V bits, of results and of each condition.  Where nobody reads the
 * conditions even less is done, in a third way, which must come to the same results. */
#include <stdbool.h>
#include <stddef.h>
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
#define WAY(name, before, text, after, conditions)                                                                     \
    static void name(const struct operands *in, struct results *out) {                                                 \
        __asm__ volatile("mov (%0), %%rax; mov 8(%0), %%rdx; mov 16(%0), %%rcx; mov %%rcx, 8(%1); cmp %%rdx, %%rax; "  \
                         before text "; " after conditions "mov %%rax, (%1)"                                           \
                         :                                                                                             \
                         : "r"(in), "r"(out)                                                                           \
                         : "rax", "rcx", "rdx", "cc", "memory");                                                       \
    }
#define TWO(number, text, same)                                                                                        \
    WAY(short_##number, "", text, "", CONDITIONS)                                                                      \
    WAY(long_##number, "std; ", same, "cld; ", CONDITIONS)                                                             \
    WAY(alone_##number, "", text, "cmp %0, %1; ", "")
#define BOTH(number, text) TWO(number, text, text)

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
    X(37, "imul %%edx, %%eax")                                                                                         \
    X(38, "imul 8(%1), %%rax")                                                                                         \
    X(39, "imul $31, %%edx, %%eax")                                                                                    \
    X(40, "imul $-7, %%rax, %%rax")                                                                                    \
    X(41, "add %%rax, %%rax")                                                                                          \
    X(42, "and %%eax, %%eax")                                                                                          \
    X(43, "sub %%al, %%al")                                                                                            \
    X(44, "add %%dl, %%al")                                                                                            \
    X(45, "sub $3, %%rax")                                                                                             \
    X(46, "sub 8(%1), %%eax")                                                                                          \
    X(47, "and 8(%1), %%rax")                                                                                          \
    X(48, "and $0x7f, %%eax")                                                                                          \
    X(49, "or 8(%1), %%al")                                                                                            \
    X(50, "orl $0x70, %%eax")                                                                                          \
    X(51, "xor 8(%1), %%al")                                                                                           \
    X(52, "xorb $5, %%al")                                                                                             \
    X(53, "rol $5, %%eax")                                                                                             \
    X(54, "rol $1, %%al")                                                                                              \
    X(55, "ror $13, %%rax")                                                                                            \
    X(56, "shr $7, %%eax")                                                                                             \
    X(57, "shl $3, %%al")                                                                                              \
    X(58, "sar $4, %%eax")                                                                                             \
    X(59, "neg %%al")                                                                                                  \
    X(60, "neg %%rax")                                                                                                 \
    X(61, "dec %%rax")                                                                                                 \
    X(62, "imul %%rdx, %%rax")                                                                                         \
    X(63, "add %%ecx, %%eax")                                                                                          \
    X(64, "dec %%eax")                                                                                                 \
    X(65, "imul 8(%1), %%eax")                                                                                         \
    X(90, "adcb %%dl, %%al")                                                                                           \
    X(91, "adc $-1, %%rax")                                                                                            \
    X(92, "adc 8(%1), %%rax")                                                                                          \
    X(93, "adcl %%edx, 8(%1)")                                                                                         \
    X(94, "sbb %%dx, %%ax")                                                                                            \
    X(95, "sbb $0, %%eax")                                                                                             \
    X(96, "sbb 8(%1), %%eax")                                                                                          \
    X(97, "sbbq $9, 8(%1)")                                                                                            \
    X(98, "mul %%edx; mov %%rdx, 8(%1)")                                                                               \
    X(99, "mulq 8(%1); mov %%rdx, 8(%1)")                                                                              \
    X(100, "mull 8(%1); mov %%rdx, 8(%1)")                                                                             \
    X(101, "mul %%rax; mov %%rdx, 8(%1)")                                                                              \
    X(102, "mulx %%rax, %%rcx, %%rax; mov %%rcx, 8(%1)")                                                               \
    X(103, "mulxl 8(%1), %%ecx, %%eax; mov %%rcx, 8(%1)")                                                              \
    X(104, "mulx 8(%1), %%rax, %%rax")                                                                                 \
    X(105, "adcx %%rdx, %%rax")                                                                                        \
    X(106, "adox 8(%1), %%eax")

/* The same by what leaves the conditions. */
#define EACH_ALIKE(X)                                                                                                  \
    X(70, "mov %%edx, %%eax", "xor %%eax, %%eax; or %%edx, %%eax")                                                     \
    X(71, "mov %%rdx, %%rax", "xor %%eax, %%eax; or %%rdx, %%rax")                                                     \
    X(72, "mov %%dl, %%al", "and $~0xff, %%rax; and $0xff, %%edx; or %%rdx, %%rax")                                    \
    X(73, "movzbl %%dl, %%eax", "mov %%rdx, %%rax; and $0xff, %%eax")                                                  \
    X(74, "movzwl %%dx, %%eax", "mov %%rdx, %%rax; and $0xffff, %%eax")                                                \
    X(75, "movsbl %%dl, %%eax", "mov %%edx, %%eax; shl $24, %%eax; sar $24, %%eax")                                    \
    X(76, "movsbq %%dl, %%rax", "mov %%rdx, %%rax; shl $56, %%rax; sar $56, %%rax")                                    \
    X(77, "movswl %%dx, %%eax", "mov %%edx, %%eax; shl $16, %%eax; sar $16, %%eax")                                    \
    X(78, "movswq %%dx, %%rax", "mov %%rdx, %%rax; shl $48, %%rax; sar $48, %%rax")                                    \
    X(79, "movslq %%edx, %%rax", "mov %%rdx, %%rax; shl $32, %%rax; sar $32, %%rax")                                   \
    X(80, "lea 5(%%rdx), %%rax", "mov %%rdx, %%rax; add $5, %%rax")                                                    \
    X(81, "lea -0x1000(%%rdx), %%eax", "mov %%edx, %%eax; add $-0x1000, %%eax")                                        \
    X(82, "lea (%%rdx,%%rax,8), %%rax", "shl $3, %%rax; add %%rdx, %%rax")                                             \
    X(83, "lea 77(%%rdx,%%rax,2), %%eax", "add %%eax, %%eax; add %%edx, %%eax; add $77, %%eax")                        \
    X(84, "lea -1(%%rax,%%rdx), %%rax", "add %%rdx, %%rax; add $-1, %%rax")                                            \
    X(85, "not %%eax", "xor $-1, %%eax")

EACH(BOTH)
EACH_ALIKE(TWO)

#define ONE(...) +1
enum { SHORT, LONG, ALONE, WAYS, ALIKE = EACH_ALIKE(ONE) };
#define ROW(number, text, ...) {text, {short_##number, long_##number, alone_##number}},
static const struct {
    const char *text;
    void (*ways[WAYS])(const struct operands *, struct results *);
} rows[] = {EACH(ROW) EACH_ALIKE(ROW)};

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

static int different;

/* What of the long way's results the other one's are to be like. */
static void compare(const char *text, const struct operands *in, const struct operands *undefined, const struct results *v,
                    const struct results *expected, size_t of) {
    if (!memcmp(v, expected, of) || different++ >= 20) return;
    printf("%s: a %llx (%llx) b %llx (%llx) memory %llx (%llx): %llx, %llx and %llx, %llx\n", text,
           (unsigned long long)in->a, (unsigned long long)undefined->a, (unsigned long long)in->b,
           (unsigned long long)undefined->b, (unsigned long long)in->memory, (unsigned long long)undefined->memory,
           (unsigned long long)v->a, (unsigned long long)v->memory, (unsigned long long)expected->a,
           (unsigned long long)expected->memory);
    for (int i = 0; i < 16 && of == sizeof *v; i++)
        if (v->conditions[i] != expected->conditions[i])
            printf("  condition %d: %x and %x\n", i, v->conditions[i], expected->conditions[i]);
}

static bool runs_here(const char *text) {
    if (!strncmp(text, "mulx", 4)) return __builtin_cpu_supports("bmi2");
    return (strncmp(text, "adcx", 4) && strncmp(text, "adox", 4)) || __builtin_cpu_supports("adx");
}

int main(void) {
    const size_t whole = sizeof(struct results), values = offsetof(struct results, conditions);
    for (unsigned row = 0; row < sizeof rows / sizeof *rows; row++)
        for (int turn = 0; turn < 400 && runs_here(rows[row].text); turn++) {
            struct operands in = {bits(), bits(), bits()}, undefined = {bits(), bits(), bits()};
            if (!strncmp(rows[row].text, "shl %%cl", 8)) undefined.memory &= ~0xffull;
            struct results out[WAYS], v[WAYS];
            memset(out, 0, sizeof out);
            memset(v, 0, sizeof v);
            (void)VALGRIND_SET_VBITS(&in, &undefined, sizeof in);
            for (int way = 0; way < WAYS; way++) {
                rows[row].ways[way](&in, &out[way]);
                (void)VALGRIND_GET_VBITS(&out[way], &v[way], whole);
            }
            VALGRIND_MAKE_MEM_DEFINED(out, sizeof out);
            VALGRIND_MAKE_MEM_DEFINED(&in, sizeof in);
            bool alike = row < sizeof rows / sizeof *rows - ALIKE;
            /* else it leaves conditions that the instruction does not; OF may be where the CPU chooses it */
            if (!alike || !memcmp(&out[SHORT], &out[LONG], whole))
                compare(rows[row].text, &in, &undefined, &v[SHORT], &v[LONG], alike ? whole : values);
            compare(rows[row].text, &in, &undefined, &v[ALONE], &v[LONG], values);
            if (memcmp(&out[ALONE], &out[LONG], values)) printf("%s: another result\n", rows[row].text);
        }
    printf("%d different\n", different);
    return 0;
}
