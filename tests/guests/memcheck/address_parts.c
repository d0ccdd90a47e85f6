/* What an undefined address is the sum of stays undefined: it is told once in a block, what is computed of it elsewhere. */
/* @build: -O1 */
#include <stdlib.h>

static long table[64] __attribute__((used));
static volatile long sink;

/* An undefined 0 in a register. */
static long undefined(void) {
    long *p = malloc(sizeof *p), n = *(volatile long *)p;
    free(p);
    return n;
}

#define N __attribute__((noinline)) static
#define CALL(f, x) ({ __typeof__(f) *volatile g = f; g(x); }) /* a block of its own */

N void number(long i) { /* the end of a loop, say */
    __asm__ volatile("addq $1, (%1,%0,8); add $1, %0; cmp $9, %0; jg 1f; movq $5, 16(%1); 1:" : "+r"(i) : "r"(table) : "memory", "cc");
}

N long *field(long *p) { /* used by the caller */
    long *next;
    __asm__ volatile("movq $1, 8(%1); lea 16(%1), %0" : "=&r"(next) : "r"(p) : "memory");
    return next;
}

N void fields(long *p) { /* told once, and again in the next block */
    __asm__ volatile("movq $1, 8(%0); movq $2, 16(%0); movq $3, (%0); lea 1f(%%rip), %%rcx; jmp *%%rcx; 1: movq $4, 24(%0)"
                     : : "r"(p) : "memory", "rcx");
}

N void factors(long i) { /* other sums */
    __asm__ volatile("movb $1, (%1,%0); movw $1, 8(%1,%0,2); movl $1, 16(%1,%0,4); movl $1, 24(%1,%0,4)"
                     : : "r"(i), "r"(table) : "memory");
}

N void whole(long *p) { /* the register itself counts as defined until the block ends */
    long *next;
    __asm__ volatile("movq $1, (%1); lea 16(%1), %0" : "=&r"(next) : "r"(p) : "memory");
    *next = 2;
    sink = (long)next;
}

int main(void) {
    CALL(number, undefined());
    long *next = CALL(field, table + undefined());
    *next = 5;
    CALL(fields, table + undefined());
    CALL(factors, undefined());
    CALL(whole, table + undefined());
    return 0;
}
