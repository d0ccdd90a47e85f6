/* String instructions move V bits as they move bytes: each of them once and with a count, forwards and backwards, between
 * places that overlap or not, of what is defined and what is not, and in the red zone; then behind a block. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

typedef unsigned char u8;
typedef unsigned long u64;

#define AREA 160

struct state {
    u64 si, di, count, ax;
};
static void run(struct state *s, void (*insn)(void)) {
    __asm__ volatile("sub $128, %%rsp; call *%[insn]; add $128, %%rsp"
                     : "+S"(s->si), "+D"(s->di), "+c"(s->count), "+a"(s->ax)
                     : [insn] "r"(insn)
                     : "memory", "cc");
}

#define INSN(name)                                                                           \
    static __attribute__((naked)) void name(void) { __asm__(#name "; ret"); }                                          \
    static __attribute__((naked)) void rep_##name(void) { __asm__("rep " #name "; ret"); }                             \
    static __attribute__((naked)) void name##_down(void) { __asm__("std; " #name "; cld; ret"); }                      \
    static __attribute__((naked)) void rep_##name##_down(void) { __asm__("std; rep " #name "; cld; ret"); }
#define ALL(X) X(movsb, 1) X(movsw, 2) X(movsl, 4) X(movsq, 8) X(stosb, 1) X(stosw, 2) X(stosl, 4) X(stosq, 8)
#define X(name, size) INSN(name)
ALL(X)
#undef X

static const struct {
    const char *name;
    unsigned size;
    void (*insn[4])(void); /* with a count: bit 0; backwards: bit 1 */
} insns[] = {
#define X(name, size) {#name, size, {name, rep_##name, name##_down, rep_##name##_down}},
    ALL(X)
#undef X
};

static u8 *area, bytes[AREA], bits[AREA];

/* The pattern of V bits: 0 all defined, 1 all undefined, 2 some bits of some bytes. */
static void prepare(unsigned pattern) {
    for (unsigned i = 0; i < AREA; i++) {
        bytes[i] = (u8)(i * 37 + 11);
        bits[i] = pattern == 0 ? 0 : pattern == 1 ? 0xff : i % 3 ? (u8)(i * 73) : 0;
        area[i] = bytes[i];
    }
    VALGRIND_SET_VBITS(area, bits, AREA);
}

/* What is defined and what is not has changed as the model has. */
static void compare(const char *name, unsigned how, unsigned from, unsigned to, unsigned count) {
    u8 now[AREA];
    VALGRIND_GET_VBITS(area, now, AREA);
    VALGRIND_MAKE_MEM_DEFINED(area, AREA);
    for (unsigned i = 0; i < AREA; i++)
        if (now[i] != bits[i] || area[i] != bytes[i])
            fprintf(stderr, "%s (%u) from %u to %u, %u times: byte %u is %02x, V %02x, not %02x, V %02x\n", name, how, from,
                    to, count, i, area[i], now[i], bytes[i], bits[i]);
}

static void one(unsigned k, unsigned how, unsigned pattern, unsigned from, unsigned to, unsigned count, u64 ax_bits) {
    unsigned size = insns[k].size, turns = how & 1 ? count : 1;
    struct state s = {(u64)area + from, (u64)area + to, count, 0x8877665544332211};
    const u8 *ax = (const u8 *)&s.ax, *ax_u = (const u8 *)&ax_bits;
    u64 step = how & 2 ? -(u64)size : size;
    bool moves = insns[k].name[0] == 'm';
    prepare(pattern);
    for (unsigned i = 0, si = from, di = to; i < turns; i++, si += (unsigned)step, di += (unsigned)step) {
        memmove(bytes + di, moves ? bytes + si : ax, size);
        memmove(bits + di, moves ? bits + si : ax_u, size);
    }
    u64 si = s.si + turns * step, di = s.di + turns * step;
    if (ax_bits) VALGRIND_SET_VBITS(&s.ax, &ax_bits, 8);
    run(&s, insns[k].insn[how]);
    if ((moves && s.si != si) || s.di != di || s.count != (how & 1 ? 0 : count))
        fprintf(stderr, "%s (%u): registers\n", insns[k].name, how);
    compare(insns[k].name, how, from, to, count);
}

static void everywhere(void) {
    static const u8 places[][2] = {{64, 96}, {65, 101}, {99, 64}, {64, 64}, {64, 65}, {65, 64}, {64, 72}, {75, 67}};
    static const u64 ax[] = {0, 0xff, 0x00f0000100000100};
    for (unsigned k = 0; k < sizeof insns / sizeof *insns; k++)
        for (unsigned how = 0; how < 4; how++)
            for (unsigned pattern = 0; pattern < 3; pattern++)
                for (unsigned p = 0; p < sizeof places / sizeof *places; p++)
                    for (unsigned count = 0; count < 5; count++)
                        for (unsigned a = 0; a < (insns[k].name[0] == 'm' ? 1 : 3); a++)
                            one(k, how, pattern, places[p][0], places[p][1], count, ax[a]);
}

/* A leaf function's own data lie below RSP: defined there, and undefined for the next one. */
#define BELOW(name, insn)                                                                                              \
    static __attribute__((naked, noinline)) u64 name(void) {                                                           \
        __asm__("lea -64(%rsp), %rdi; lea word(%rip), %rsi; mov word(%rip), %rax; mov $8, %ecx; " insn                \
                "; mov -64(%rsp), %rax; ret");                                                                         \
    }
__attribute__((used)) static u64 word = 0x0123456789abcdef;
BELOW(stored_below, "stosq")
BELOW(filled_below, "rep stosb")
BELOW(moved_below, "movsq")
BELOW(copied_below, "rep movsb")
static __attribute__((naked, noinline)) u64 is_below(void) { __asm__("mov -64(%rsp), %rax; ret"); }
static void below(void) {
    static u64 (*const functions[])(void) = {stored_below, filled_below, moved_below, copied_below};
    for (unsigned i = 0; i < 4; i++) {
        u64 value, u = 0;
        value = functions[i]();
        VALGRIND_GET_VBITS(&value, &u, 8);
        if (u || value != (i == 1 ? 0xefefefefefefefef : word)) fprintf(stderr, "below RSP (%u): %lx, V %lx\n", i, value, u);
        functions[i]();
        value = is_below();
        VALGRIND_GET_VBITS(&value, &u, 8);
        if (u != ~0ul) fprintf(stderr, "left below RSP (%u): V %lx\n", i, u);
    }
}

int main(void) {
    area = malloc(AREA);
    everywhere();
    below();
    for (unsigned how = 0; how < 4; how++)
        for (unsigned k = 0; k < 8; k++) { /* behind the block's end, and what was undefined decides */
            struct state s = {(u64)area, (u64)area + AREA - 1, 1, 7};
            if (how & 2) s.di = (u64)area + AREA - 2 * (insns[k].size > 1) + (insns[k].size == 1);
            run(&s, insns[k].insn[how]);
        }
    area[0] = 1;
    VALGRIND_MAKE_MEM_UNDEFINED(area + 1, 1);
    struct state s = {(u64)area, (u64)area + 8, 2, 0};
    run(&s, rep_movsb);
    if (area[8]) fputs("defined\n", stderr);
    if (area[9]) fputs("undefined\n", stderr);
    VALGRIND_MAKE_MEM_UNDEFINED(&s.count, 8);
    run(&s, rep_stosb);
    VALGRIND_MAKE_MEM_UNDEFINED(&s.di, 1);
    run(&s, stosb);
    return 0;
}
