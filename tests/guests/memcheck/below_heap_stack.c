/* A local variable of a function that has returned, far below the stack pointer, on a stack in a heap block.
 * @options: -q --leak-check=no --max-stackframe=32768 */
#include <stdlib.h>

void on_stack(void *top, void (*f)(void));
__asm__(".text\n"
        ".type on_stack, @function\n"
        "on_stack:\n\t"
        "push %rbx\n\tmov %rsp, %rbx\n\tmov %rdi, %rsp\n\tcall *%rsi\n\tmov %rbx, %rsp\n\tpop %rbx\n\tret\n"
        ".size on_stack, .-on_stack\n");

__attribute__((noinline)) static volatile long *dangling(int n) {
    volatile long room[400];
    volatile long *inner = room;
    for (int i = 0; i < 400; i++) room[i] = n + i;
    if (n > 0) inner = dangling(n - 1);
    return inner + (n == 0);
}

static void work(void) {
    volatile long *p = dangling(3);
    long value = *p;
    *p = 5;
    (void)value;
}

int main(void) {
    char *block = malloc(65536);
    on_stack(block + 65536 - 64, work);
    free(block);
    return 0;
}
