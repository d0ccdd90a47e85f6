/* Logic and sums of registers and immediates with undefined bits are undefined as far as those of memory are, in each bit
 * and each condition, and addresses (lea) as far as the sums that they are. */
#include <stdint.h>
#include <stdio.h>

#include <valgrind/memcheck.h>

struct state {
    uint64_t value;
    uint8_t conditions[8];
};
struct input {
    uint64_t a, b;
};

#define CONDITIONS(at)                                                                                                 \
    "seto " at "; setb 1+" at "; setz 2+" at "; setbe 3+" at "; sets 4+" at "; setp 5+" at "; setl 6+" at "; setle 7+" at
#define CASE(name, op, suffix, ra, rb, constant)                                                                       \
    void registers_##name(struct state *, const struct input *), memory_##name(struct state *, const struct input *);  \
    void constant_##name(struct state *, const struct input *), constant_memory_##name(struct state *, const void *);  \
    void loaded_##name(struct state *, const struct input *);  \
    __asm__("registers_" #name ": mov (%rsi), %rax; mov 8(%rsi), %rcx;" #op #suffix " %" #rb ", %" #ra ";"             \
            CONDITIONS("8(%rdi)") "; mov %rax, (%rdi); ret;"                                                           \
            "memory_" #name ": mov (%rsi), %rax; mov %rax, (%rdi); mov 8(%rsi), %rcx;" #op #suffix " %" #rb ", (%rdi);"\
            CONDITIONS("8(%rdi)") "; ret;"                                                                             \
            "loaded_" #name ": mov (%rsi), %rax;" #op #suffix " 8(%rsi), %" #ra ";"                                      \
            CONDITIONS("8(%rdi)") "; mov %rax, (%rdi); ret;"                                                           \
            "constant_" #name ": mov (%rsi), %rax;" #op #suffix " $" #constant ", %" #ra ";"                           \
            CONDITIONS("8(%rdi)") "; mov %rax, (%rdi); ret;"                                                           \
            "constant_memory_" #name ": mov (%rsi), %rax; mov %rax, (%rdi);" #op #suffix " $" #constant ", (%rdi);"    \
            CONDITIONS("8(%rdi)") "; ret");
#define SIZES(op)                                                                                                      \
    CASE(op##b, op, b, al, cl, 0x5a)                                                                                   \
    CASE(op##w, op, w, ax, cx, 0x7ff0)                                                                                 \
    CASE(op##l, op, l, eax, ecx, 0x80ff00f0)                                                                           \
    CASE(op##q, op, q, rax, rcx, -256)
SIZES(and)
SIZES(or)
SIZES(xor)
SIZES(test)
SIZES(add)
SIZES(sub)
SIZES(cmp)

#define ADDRESS(name, lea, sum)                                                                                        \
    void registers_##name(struct state *, const struct input *), memory_##name(struct state *, const struct input *);  \
    __asm__("registers_" #name ": mov (%rsi), %rax; mov 8(%rsi), %rcx;" lea "; mov %rax, (%rdi); movq $0, 8(%rdi); ret;" \
            "memory_" #name ": mov (%rsi), %rax; mov 8(%rsi), %rcx;" sum "; mov %rax, (%rdi); movq $0, 8(%rdi); ret");
ADDRESS(one, "lea 0x1234(%rax), %rax", "add $0x1234, %rax")
ADDRESS(two, "lea -8(%rax,%rcx,4), %rax", "shl $2, %rcx; add %rcx, %rax; add $-8, %rax")
ADDRESS(twice, "lea (%rax,%rax,8), %rax", "mov %rax, %rcx; shl $3, %rcx; add %rcx, %rax")
ADDRESS(doubled, "lea (%rax,%rax), %rax", "add %rax, %rax")
ADDRESS(half, "lea 16(%rax,%rcx,2), %eax", "add %ecx, %ecx; add %ecx, %eax; add $16, %eax")
ADDRESS(scaled, "lea 0x100(,%rcx,8), %rax", "shl $3, %rcx; mov %rcx, %rax; add $0x100, %rax")

static uint64_t seed = 88172645463325252;
static uint64_t next(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Numbers with many zeros, many ones and of both. */
static uint64_t number(void) {
    switch (next() % 4) {
    case 0: return 0;
    case 1: return next() & next() & next();
    case 2: return next() << next() % 64;
    default: return next();
    }
}

static unsigned long undefined, wrong;

/* Of the second one, memory has no upper half. */
static void compare(const char *name, unsigned size, struct state *in_register, struct state *in_memory) {
    struct state r, m, rv, mv;
    VALGRIND_GET_VBITS(in_register, &rv, sizeof rv);
    VALGRIND_GET_VBITS(in_memory, &mv, sizeof mv);
    VALGRIND_MAKE_MEM_DEFINED(in_register, sizeof r);
    VALGRIND_MAKE_MEM_DEFINED(in_memory, sizeof m);
    r = *in_register;
    m = *in_memory;
    if (size == 4 && name[0] != 't' && name[0] != 'c') mv.value &= 0xffffffff, m.value &= 0xffffffff;
    for (unsigned k = 0; k < 8; k++) {
        undefined += rv.conditions[k] != 0;
        if (rv.conditions[k] != mv.conditions[k] || r.conditions[k] != m.conditions[k])
            if (!wrong++) fprintf(stderr, "%s: condition %u %x %x\n", name, k, rv.conditions[k], mv.conditions[k]);
    }
    undefined += rv.value != 0;
    if (rv.value == mv.value && r.value == m.value) return;
    if (!wrong++) fprintf(stderr, "%s: %lx %lx\n", name, rv.value, mv.value);
}

#define RUN(name, size)                                                                                                \
    {                                                                                                                  \
        struct input i = {number(), number()}, v = {number(), number()};                                               \
        struct state r, m;                                                                                             \
        VALGRIND_SET_VBITS(&i, &v, sizeof i);                                                                          \
        registers_##name(&r, &i), memory_##name(&m, &i);                                                               \
        compare(#name, size, &r, &m);                                                                                  \
        loaded_##name(&r, &i), memory_##name(&m, &i);                                                                                         \
        compare(#name, size, &r, &m);                                                                                  \
        constant_##name(&r, &i), constant_memory_##name(&m, &i);                                                       \
        compare(#name, size, &r, &m);                                                                                  \
    }
#define RUN_ADDRESS(name)                                                                                              \
    {                                                                                                                  \
        struct input i = {number(), number()}, v = {number(), number()};                                               \
        struct state r, m;                                                                                             \
        VALGRIND_SET_VBITS(&i, &v, sizeof i);                                                                          \
        registers_##name(&r, &i), memory_##name(&m, &i);                                                               \
        compare(#name, 8, &r, &m);                                                                                     \
    }
#define RUNS(op) RUN(op##b, 1) RUN(op##w, 2) RUN(op##l, 4) RUN(op##q, 8)

int main(void) {
    for (int turn = 0; turn < 2000; turn++) {
        RUNS(and);
        RUNS(or);
        RUNS(xor);
        RUNS(test);
        RUNS(add);
        RUNS(sub);
        RUNS(cmp);
        RUN_ADDRESS(one);
        RUN_ADDRESS(two);
        RUN_ADDRESS(twice);
        RUN_ADDRESS(doubled);
        RUN_ADDRESS(half);
        RUN_ADDRESS(scaled);
    }
    fprintf(stderr, "%s, %lu wrong\n", undefined > 10000 ? "many undefined" : "few undefined", wrong);
    return wrong != 0;
}
