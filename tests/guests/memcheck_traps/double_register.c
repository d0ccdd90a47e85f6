/* A bit field read as compilers do it: lea r,[r+r]; sar.  What is undefined in
 * other fields must stay at its place.  Found in gcc's cc1. */
#include <stdio.h>
#include <stdlib.h>

static int field_by_lea(unsigned word) {
    unsigned out;
    __asm__("mov %1, %%eax\n\tlea (%%rax,%%rax), %0\n\tsar $16, %0" : "=r"(out) : "r"(word) : "rax", "cc");
    return (int)out;
}

static int field_by_add(unsigned word) {
    __asm__("add %0, %0\n\tsar $16, %0" : "+r"(word) : : "cc");
    return (int)word;
}

static int field_by_adc(unsigned word) {
    __asm__("clc\n\tadc %0, %0\n\tsar $16, %0" : "+r"(word) : : "cc");
    return (int)word;
}

int main(void) {
    unsigned *p = malloc(sizeof *p);
    *p = (*p & 0x80002000u) | 42u << 15; /* bits 31 and 13 stay undefined */
    int sum = field_by_lea(*p) + field_by_add(*p) + field_by_adc(*p);
    if (sum < 0)
        puts("negative");
    printf("%d\n", sum);
    free(p);
    return 0;
}
