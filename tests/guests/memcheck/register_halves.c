/* Parts of registers: ah, ax, the upper halves; 32-bit writes clear, 16-bit ones keep what is above. */
#include <stdlib.h>

int main(void) {
    long *p = malloc(sizeof *p), v;
    volatile int sum = 0;
    __asm__("mov %1, %%rax; mov $5, %%al; mov %%rax, %0" : "=r"(v) : "m"(*p) : "rax");
    if ((v & 0xff) == 5)
        sum++;
    if ((v & 0xff00) == 5) /* undefined */
        sum++;
    __asm__("mov %1, %%rax; mov $5, %%ah; mov %%rax, %0" : "=r"(v) : "m"(*p) : "rax");
    if ((v & 0xff00) == 0x500)
        sum++;
    if (v & 1) /* undefined */
        sum++;
    __asm__("mov %1, %%rax; mov $5, %%eax; mov %%rax, %0" : "=r"(v) : "m"(*p) : "rax");
    if (v == 5)
        sum++;
    __asm__("mov %1, %%rax; mov $5, %%ax; mov %%rax, %0" : "=r"(v) : "m"(*p) : "rax");
    if ((short)v == 5)
        sum++;
    if (v >> 32) /* undefined */
        sum++;
    __asm__("mov %1, %%rax; xchg %%al, %%ah; shr $8, %%eax; movzbl %%al, %%eax; mov %%rax, %0" : "=r"(v) : "m"(*p) : "rax");
    if (v == 3) /* undefined */
        sum++;
    if (v >> 8)
        sum++;
    __asm__("mov %1, %%rax; xor %%eax, %%eax; mov %%rax, %0" : "=r"(v) : "m"(*p) : "rax");
    if (v)
        sum++;
    __asm__("mov %1, %%rax; sub %%rax, %%rax; mov %%rax, %0" : "=r"(v) : "m"(*p) : "rax", "cc");
    if (v)
        sum++;
    __asm__("mov %1, %%rax; sbb %%rax, %%rax; mov %%rax, %0" : "=r"(v) : "m"(*p) : "rax", "cc");
    if (v)
        sum++;
    __asm__("mov %1, %%rax; bswap %%rax; mov %%rax, %0" : "=r"(v) : "m"(*p) : "rax");
    if (v & 8) /* undefined */
        sum++;
    free(p);
    return 0;
}
