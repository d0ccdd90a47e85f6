#include <stdlib.h>
#define CASE(name, code) \
    __asm__(".globl " #name "\n" #name ":\n" code "\n ret\n .size " #name ",.-" #name "\n .type " #name ",@function\n"); \
    void name(void *undefined, void *freed, void *good);
CASE(load, "mov (%rdi),%rdi")
CASE(add, "add (%rdi),%rdi")
CASE(multiply, "imul (%rdi),%rdi")
CASE(after_add, "add $1,%rdi\n jz 1f\n mov %rdi,8(%rdx)\n1:")
CASE(after_cmov, "add $0,%rdi\n cmovs %rdx,%rdi\n test %rdi,%rdi\n jz 1f\n incl 16(%rdx)\n1:")
CASE(pop, "push %rdx\n pop (%rdi)")
CASE(exchange_add, "mov $1,%eax\n xadd %rax,(%rdi)")
CASE(string, "mov %rdi,%rsi\n lodsb")
CASE(exchange, "mov $7,%eax\n xchg %eax,(%rsi)\n cmp $7,%eax\n je 1f\n incl 16(%rdx)\n1:")
CASE(loops, "mov %rdi,%rcx\n shr $63,%rcx\n add $2,%rcx\n1: loop 1b")
int main(void) {
    char *block = calloc(1, 128), *freed = malloc(64);
    unsigned long *none = malloc(8), value = *none;
    free(freed);
    __asm__ volatile("xor %1,%0" : "+r"(value) : "m"(*none)); /* undefined, and 0 */
    void *undefined = block + value;
    load(undefined, freed, block);
    add(undefined, freed, block);
    multiply(undefined, freed, block);
    after_add(undefined, freed, block);
    after_cmov(undefined, freed, block);
    pop(undefined, freed, block);
    exchange_add(undefined, freed, block);
    string(undefined, freed, block);
    exchange(undefined, freed, block);
    loops(undefined, freed, block);
    return 0;
}
