/* "a || b" of undefined values is one use: where the first branch leads to the second one, that speaks for both.  A
 * third one, one that is further away, or one with another target, speaks for itself.
 * @build: -O1
 * @expect: Conditional jump or move depends on uninitialised value(s) at either
 * @expect: Conditional jump or move depends on uninitialised value(s) at either
 * @expect: Conditional jump or move depends on uninitialised value(s) at computed
 * @expect: Conditional jump or move depends on uninitialised value(s) at computed
 * @expect: Conditional jump or move depends on uninitialised value(s) at shifted
 * @expect: Conditional jump or move depends on uninitialised value(s) at shifted
 * @expect: Conditional jump or move depends on uninitialised value(s) at multiplied
 * @expect: Conditional jump or move depends on uninitialised value(s) at multiplied
 * @expect: Conditional jump or move depends on uninitialised value(s) at decremented
 * @expect: Conditional jump or move depends on uninitialised value(s) at decremented
 * @expect: Conditional jump or move depends on uninitialised value(s) at negated
 * @expect: Conditional jump or move depends on uninitialised value(s) at negated
 * @expect: Conditional jump or move depends on uninitialised value(s) at set
 * @expect: Conditional jump or move depends on uninitialised value(s) at set
 * @expect: Conditional jump or move depends on uninitialised value(s) at chosen
 * @expect: Conditional jump or move depends on uninitialised value(s) at chosen
 * @expect: Conditional jump or move depends on uninitialised value(s) at carried
 * @expect: Conditional jump or move depends on uninitialised value(s) at carried
 * @expect: Conditional jump or move depends on uninitialised value(s) at rotated
 * @expect: Conditional jump or move depends on uninitialised value(s) at rotated
 * @expect: Conditional jump or move depends on uninitialised value(s) at tested
 * @expect: Conditional jump or move depends on uninitialised value(s) at tested
 * @expect: Conditional jump or move depends on uninitialised value(s) at widened
 * @expect: Conditional jump or move depends on uninitialised value(s) at widened
 * @expect: Conditional jump or move depends on uninitialised value(s) at one_compare
 * @expect: Conditional jump or move depends on uninitialised value(s) at one_compare
 * @expect: Conditional jump or move depends on uninitialised value(s) at three
 * @expect: Conditional jump or move depends on uninitialised value(s) at three
 * @expect: Conditional jump or move depends on uninitialised value(s) at three
 * @expect: Conditional jump or move depends on uninitialised value(s) at far
 * @expect: Conditional jump or move depends on uninitialised value(s) at far
 * @expect: Conditional jump or move depends on uninitialised value(s) at elsewhere
 * @expect: Conditional jump or move depends on uninitialised value(s) at elsewhere
 * @expect: Conditional jump or move depends on uninitialised value(s) at defined_between
 * @expect: Conditional jump or move depends on uninitialised value(s) at defined_between */
#include <stdio.h>
#include <stdlib.h>

#define FUNCTION(name, code)                                                                                           \
    int name(int *);                                                                                                   \
    __asm__(".globl " #name "\n.type " #name ", @function\n" #name ": mov (%rdi), %eax\n" code                         \
            "\nmov $3, %ecx\n mov $4, %ecx\n mov $5, %ecx\n ret\n"                                                     \
            "2: mov $6, %ecx\n mov $7, %ecx\n mov $8, %ecx\n ret\n.size " #name ", .-" #name);

/* The values: one that goes on to the second branch and past it, and one that the first branch takes. */
FUNCTION(either, "cmp $1, %eax; je 2f; cmp $36, %eax; jg 2f")
FUNCTION(computed, "cmp $1, %eax; je 3f; sub $3, %eax; cmp $36, %eax; jle 2f; 3: nop")
FUNCTION(shifted, "cmp $1, %eax; je 2f; shl $2, %eax; cmp $36, %eax; jg 2f")
FUNCTION(multiplied, "cmp $1, %eax; je 2f; imul $3, %eax, %eax; cmp $36, %eax; jg 2f")
FUNCTION(decremented, "cmp $1, %eax; je 2f; dec %eax; jg 2f")
FUNCTION(negated, "cmp $1, %eax; je 2f; neg %eax; cmp $36, %eax; jg 2f")
FUNCTION(set, "cmp $1, %eax; je 2f; cmp $5, %eax; setg %al; jg 2f")
FUNCTION(chosen, "cmp $1, %eax; je 2f; cmp $5, %eax; cmovg %edi, %eax; jg 2f")
FUNCTION(carried, "cmp $1, %eax; je 2f; sbb $1, %eax; jg 2f")
FUNCTION(rotated, "cmp $1, %eax; je 2f; rol $2, %eax; cmp $36, %eax; jg 2f")
FUNCTION(tested, "cmp $1, %eax; je 2f; bt $2, %eax; jc 2f")
FUNCTION(widened, "cmp $1, %eax; je 2f; cdq; cmp $36, %eax; jg 2f")
FUNCTION(one_compare, "cmp $1, %eax; je 2f; jg 2f")
FUNCTION(three, "cmp $1, %eax; je 2f; cmp $36, %eax; jg 2f; cmp $-9, %eax; je 2f")
FUNCTION(far, "cmp $1, %eax; je 2f; nop; nop; cmp $36, %eax; jg 2f")
FUNCTION(elsewhere, "cmp $1, %eax; je 2f; cmp $36, %eax; jg 5f; mov $9, %edx; ret; 5: mov $10, %ecx")
FUNCTION(defined_between, "cmp $1, %eax; je 2f; cmp $36, %rsp; je 2f; cmp $36, %eax; jg 2f")

/* value, in a way that the tool cannot know. */
static void undefined(int *where, int value) {
    int *fresh = malloc(sizeof *fresh);
    __asm__ volatile("mov (%1), %%eax; xor %%eax, %%ecx; xor %%eax, %%ecx; mov %%ecx, (%0)"
                     : "+r"(where), "+r"(fresh), "+c"(value)
                     :
                     : "rax", "memory", "cc");
    free(fresh);
}

int main(void) {
    static int (*const functions[])(int *) = {either, computed, shifted, multiplied, decremented, negated, set, chosen, carried, rotated, tested, widened, one_compare, three, far, elsewhere, defined_between};
    static const int values[] = {0, 1};
    volatile int sink;
    int x;
    for (unsigned k = 0; k < sizeof functions / sizeof *functions; k++)
        for (volatile unsigned v = 0; v < 2; v++) {
            undefined(&x, values[v]);
            sink = functions[k](&x);
        }
    puts("done");
    return 0;
}
