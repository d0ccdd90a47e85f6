#include <string.h>
char from[64] = "twelve bytes", to[64];
unsigned long count(void) {
    unsigned long n;
    __asm__ volatile("xor %%eax, %%eax\n\t"
                     "marked: inc %%rax\n\t"
                     "pushfq\n\t"
                     "pop %%rdx\n\t"
                     "cmp $3, %%rax\n\t"
                     "jne marked\n\t"
                     "lea from(%%rip), %%rsi\n\t"
                     "lea to(%%rip), %%rdi\n\t"
                     "mov $3, %%ecx\n\t"
                     "copied: rep movsb\n\t"
                     "behind: nop"
                     : "=a"(n) : : "rcx", "rdx", "rsi", "rdi", "memory", "cc");
    return n;
}
int main(void) { return count() == 3 && !memcmp(to, "twe", 4) ? 0 : 1; }
