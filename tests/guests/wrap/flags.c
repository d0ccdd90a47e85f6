/* A replacement reads the flags that its caller set, although the function in whose place it is overwrites them. */
#include "header.h"
int call(const long *at);
__asm__(".text\n.globl plain\n.type plain, @function\nplain: xor %eax, %eax\nadd $0, %eax\nret\n.size plain, .-plain\n"
        /* Loads between the flags and the jump: what is added to them must know that the flags are read. */
        ".globl call\n.type call, @function\ncall: mov (%rdi), %rax\nstc\nmov 8(%rdi), %rdx\nmov (%rdi), %rcx\njmp plain\n"
        ".size call, .-call\n");
__attribute__((naked)) int I_REPLACE_SONAME_FNNAME_ZU(NONE, plain)(void) {
    __asm__("setc %al\nmovzbl %al, %eax\nret");
}
int main(void) {
    long *words = (long[]){1, 2};
    int sum = 0;
    for (int i = 0; i < 10; i++) sum += call(words);
    printf("%d\n", sum);
    return 0;
}
