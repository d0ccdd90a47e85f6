/* A request whose words cannot be read gets its default. */
#include <stdio.h>
int main(void) {
    unsigned long result = 5;
    __asm__ volatile("rolq $3, %%rdi\n rolq $13, %%rdi\n rolq $61, %%rdi\n rolq $51, %%rdi\n xchgq %%rbx, %%rbx"
                     : "+d"(result)
                     : "a"(16ul)
                     : "cc", "memory");
    printf("%lu\n", result);
    return 0;
}
