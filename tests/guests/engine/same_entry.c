/* Functions, and places where their calls return to, whose addresses have their low 16 bits in common: in the table of
 * indirect jumps they take each other's entry in turn.  Who arrives has the registers and flags of who left. */
#include <stdio.h>

struct seen {
    unsigned long rcx, rdx, rax, rcx_after, rdx_after;
    unsigned char carry;
};

__asm__(".text\n"
        ".macro pair k, set\n"
        "add\\k: lea \\k(%rcx,%rdx,2), %rax\n"
        "        ret\n"
        "        .org add\\k + 64\n"
        "call\\k: push %rbx\n"
        "        mov %rsi, %rbx\n"
        "        mov 0(%rbx), %rcx\n"
        "        mov 8(%rbx), %rdx\n"
        "        \\set\n"
        "        call *%rdi\n"
        "        mov %rax, 16(%rbx)\n"
        "        mov %rcx, 24(%rbx)\n"
        "        mov %rdx, 32(%rbx)\n"
        "        setc 40(%rbx)\n"
        "        pop %rbx\n"
        "        ret\n"
        ".endm\n"
        "pair 0, clc\n"
        ".org add0 + 65536\n"
        "pair 1, stc\n"
        ".org add1 + 65536\n"
        "pair 2, stc\n");
typedef void callee(void);
extern callee add0, add1, add2;
typedef void caller(callee *, struct seen *);
extern caller call0, call1, call2;

int main(void) {
    static callee *const add[] = {add0, add1, add2};
    static caller *const call[] = {call0, call1, call2};
    unsigned long wrong = 0, sum = 0;
    for (unsigned long i = 0; i < 20000; i++) {
        struct seen s = {.rcx = i * 0x9e3779b97f4a7c15, .rdx = ~i};
        unsigned long a = i % 3, c = i / 3 % 3;
        call[c](add[a], &s);
        wrong += s.rax != s.rcx + 2 * s.rdx + a || s.rcx_after != s.rcx || s.rdx_after != s.rdx || s.carry != (c > 0);
        sum += s.rax;
    }
    printf("wrong %lu sum %lx\n", wrong, sum);
    return 0;
}
