/* Compilers test the operands of && and || in any order: an undefined one decides nothing if a defined one does.
 * @build: -O1
 * @expect: Conditional jump or move depends on uninitialised value(s) at argument_differs
 * @expect: Conditional jump or move depends on uninitialised value(s) at differs_later
 * @expect: Conditional jump or move depends on uninitialised value(s) at decides
 * @expect: Conditional jump or move depends on uninitialised value(s) at second_undefined
 * @expect: Conditional jump or move depends on uninitialised value(s) at second_undefined
 * @expect: Conditional jump or move depends on uninitialised value(s) at stores_between
 * @expect: Conditional jump or move depends on uninitialised value(s) at result_differs
 * @expect: Conditional jump or move depends on uninitialised value(s) at flags_differ
 * @expect: Conditional jump or move depends on uninitialised value(s) at reads_memory
 */
#include <stdio.h>
#include <stdlib.h>

struct s {
    unsigned u, zero, one;
};

#define FUNCTION(name, code)                                                                                           \
    long name(struct s *);                                                                                             \
    __asm__(".globl " #name "\n.type " #name ", @function\n" #name ": xor %eax, %eax\n mov (%rdi), %ecx\n mov 4(%rdi), %edx\n mov 8(%rdi), %esi\n" code                           \
            "\n1: xor %eax, %eax\n ret\n2: mov $1, %eax\n ret\n.size " #name ", .-" #name);

/* ecx = u, undefined; edx = 0, esi = 1: u compared && zero, ... */
FUNCTION(and_once, "test $0x1000, %ecx; je 1f; test %edx, %edx; jne 2f")
FUNCTION(and_jumps, "test $1, %ch; je 1f; cmp $0, %edx; je 1f; jmp 2f")
FUNCTION(and_computes, "cmp $9, %ecx; ja 1f; lea 1(%rdx,%rsi,4), %r8; movzbl %r8b, %r9d; and $6, %r9d; cmp $6, %r9b; je 2f")
FUNCTION(and_three, "cmp $9, %ecx; ja 1f; cmp $0, %esi; je 1f; cmp $0, %edx; jne 2f")
FUNCTION(and_twice, "cmp $9, %ecx; ja 1f; cmp $5, %ecx; jb 1f; test %edx, %edx; jne 2f")
FUNCTION(and_negated, "cmp $9, %ecx; jbe 3f; jmp 1f; 3: cmp $0, %edx; je 1f; jmp 2f")
FUNCTION(or_once, "cmp $9, %ecx; ja 2f; cmp $0, %esi; jne 2f")
FUNCTION(or_signed, "cmp $9, %ecx; jl 2f; cmp $7, %esi; jle 2f")
/* Instructions that compute, and their flags. */
FUNCTION(and_left, "cmp $9, %ecx; ja 1f; mov %edx, %r9d; mov $0x40000003, %r8d; shl $2, %r8d; setnc %r9b; xor $12, %r8d; or %r9d, %r8d; jne 2f")
FUNCTION(and_right, "cmp $9, %ecx; ja 1f; mov %edx, %r9d; mov $7, %r8d; shr %r8d; setnc %r9b; xor $3, %r8d; or %r9d, %r8d; jne 2f")
FUNCTION(and_right_signed, "cmp $9, %ecx; ja 1f; mov %edx, %r9d; mov $-8, %r8d; sar $2, %r8d; setns %r9b; xor $-2, %r8d; or %r9d, %r8d; jne 2f")
FUNCTION(and_left_round, "cmp $9, %ecx; ja 1f; mov %edx, %r9d; mov $0x80000001, %r8d; rol $4, %r8d; setc %r9b; xor $0x18, %r8d; or %r9d, %r8d; jne 2f")
FUNCTION(and_right_round, "cmp $9, %ecx; ja 1f; mov %edx, %r9d; mov $2, %r8b; ror $2, %r8b; setnc %r9b; xor $0x80, %r8b; or %r9b, %r8b; jne 2f")
FUNCTION(and_product, "cmp $9, %ecx; ja 1f; mov %edx, %r9d; imul $-3, %esi, %r8d; seto %r9b; xor $-3, %r8d; or %r9d, %r8d; jne 2f")
FUNCTION(and_up, "cmp $9, %ecx; ja 1f; mov %edx, %r9d; mov $0x7fffffff, %r8d; inc %r8d; setno %r9b; xor $0x80000000, %r8d; or %r9d, %r8d; jne 2f")
FUNCTION(and_down, "cmp $9, %ecx; ja 1f; mov %edx, %r9d; mov %edx, %r8d; dec %r8d; setns %r9b; xor $-1, %r8d; or %r9d, %r8d; jne 2f")
FUNCTION(and_negative, "cmp $9, %ecx; ja 1f; mov %edx, %r9d; mov $5, %r8d; neg %r8d; setnc %r9b; xor $-5, %r8d; or %r9d, %r8d; jne 2f")
FUNCTION(and_inverse, "cmp $9, %ecx; ja 1f; mov $5, %r8d; not %r8d; cmp $-6, %r8d; jne 2f")
FUNCTION(and_carried_up, "cmp $9, %ecx; ja 1f; mov %edx, %r9d; mov $-1, %r8d; add $1, %r8d; adc $0, %r8d; setc %r9b; xor $1, %r8d; or %r9d, %r8d; jne 2f")
FUNCTION(and_carried_down, "cmp $9, %ecx; ja 1f; mov %edx, %r9d; mov %edx, %r8d; cmp $1, %edx; sbb $0, %r8d; setnc %r9b; xor $-1, %r8d; or %r9d, %r8d; jne 2f")
FUNCTION(and_condition, "cmp $9, %ecx; ja 1f; mov %edx, %r8d; cmp $1, %esi; sete %r8b; cmp $1, %r8d; jne 2f")
FUNCTION(and_choice, "cmp $9, %ecx; ja 1f; mov $3, %r8d; cmp $1, %esi; cmovne %edx, %r8d; cmp $1, %esi; cmove %esi, %r8d; cmp $1, %r8d; jne 2f")
FUNCTION(and_bit, "cmp $9, %ecx; ja 1f; mov $4, %r8d; bt $34, %r8d; jnc 2f")
FUNCTION(and_wider, "cmp $9, %ecx; ja 1f; mov $-2, %eax; cdqe; cqo; add %rdx, %rax; cmp $-3, %rax; jne 2f")
/* What was computed is never looked at, on any way from there: many that meet again, a loop, a callee without arguments. */
__asm__("takes_none: mov $5, %eax; ret\ntakes_one: mov %rdi, %rax; ret");
#define WAYS(dead)                                                                                                     \
    "1: cmp $3, %edx; je 3f; cmp $4, %edx; je 3f; 3: cmp $5, %edx; je 4f; cmp $6, %edx; je 4f; 4: cmp $7, %edx; je 5f; cmp $8, %edx; je 5f\n" \
    "5: cmp $9, %edx; je 6f; cmp $10, %edx; je 6f; 6: cmp $11, %edx; je 7f; cmp $12, %edx; je 7f; 7: dec %esi; jns 3b\n"  \
    "test %eax, %eax; jne 8f; call " dead "; mov %eax, %edi; 8: xor %eax, %eax; ret;"
FUNCTION(dead_far, "cmp $9, %ecx; ja 1f; mov %rdx, %rdi; test %edx, %edx; jne 2f; " WAYS("takes_none"))
FUNCTION(argument_differs, "cmp $9, %ecx; ja 1f; mov %rdx, %rdi; test %edx, %edx; jne 2f; " WAYS("takes_one"))
FUNCTION(differs_later, "cmp $9, %ecx; ja 1f; mov %rdx, %r8; test %edx, %edx; jne 2f; 1: dec %esi; jns 1b; cmp $1, %edx; jne 3f; ret; 3: test %r8, %r8; sete %al; ret;")
/* The other operand lets the undefined one decide, or is not harmless, or more than the place depends on it: */
FUNCTION(decides, "cmp $9, %ecx; ja 1f; cmp $0, %esi; jne 2f")
FUNCTION(second_undefined, "cmp $9, %ecx; ja 1f; cmp $7, %cl; jne 2f")
FUNCTION(stores_between, "cmp $9, %ecx; ja 1f; movl $0, 4(%rdi); cmp $0, %edx; jne 2f")
FUNCTION(result_differs, "cmp $9, %ecx; ja 3f; mov %esi, %eax; cmp $0, %eax; je 2f; 3: ret")
FUNCTION(flags_differ, "cmp $9, %ecx; ja 3f; cmp $0, %edx; jne 2f; 3: sete %al; ret")
FUNCTION(reads_memory, "cmp $9, %ecx; ja 1f; cmpl $0, 4(%rdi); jne 2f")

/* value, in a way that the tool cannot know. */
static void undefined(unsigned *where, unsigned value) {
    unsigned *fresh = malloc(sizeof *fresh);
    __asm__ volatile("mov (%1), %%eax; xor %%eax, %%ecx; xor %%eax, %%ecx; mov %%ecx, (%0)"
                     : "+r"(where), "+r"(fresh), "+c"(value)
                     :
                     : "rax", "memory", "cc");
    free(fresh);
}

int main(void) {
    static long (*const functions[])(struct s *) = {
        and_once,  and_jumps, and_computes,     and_three,      and_twice,      and_negated,  or_once,
        or_signed, and_left, and_right, and_right_signed, and_left_round, and_right_round, and_product, and_up, and_down, and_negative, and_inverse, and_carried_up, and_carried_down, and_condition, and_choice, and_bit, and_wider, dead_far, argument_differs, differs_later, decides,   second_undefined, stores_between, result_differs, flags_differ, reads_memory,
    };
    static const unsigned values[] = {0, 7, 0x1000, 0xffffffff}; /* on both sides of what is compared */
    struct s s = {.one = 1};
    volatile long sink;
    for (int k = 0; k < sizeof functions / sizeof *functions; k++)
        for (int v = 0; v < 4; v++) {
            undefined(&s.u, values[v]);
            sink = functions[k](&s);
        }
    puts("done");
    return 0;
}
