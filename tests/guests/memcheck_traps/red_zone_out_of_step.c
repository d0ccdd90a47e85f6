/* A function defines bytes of its red zone, and returns while no call of that place is known: the bytes are undefined
 * again behind it, and so they are when both its returns are in step. */
/* @expect: Conditional jump or move depends on uninitialised value(s) at in_step
 * @expect: Conditional jump or move depends on uninitialised value(s) at out_of_step */
#include <stdio.h>

long in_step(long);
long out_of_step(long);

/* at the address that many bytes below its own RSP, by way of a pointer */
#define STORES "neg %rdi\n\tlea (%rsp,%rdi), %rax\n\tmovb $5, (%rax)\n\tneg %rdi\n\t"
#define ASKS   "neg %rdi\n\tmovb -8(%rsp,%rdi), %al\n\ttest %al, %al\n\tje 1f\n\t1: mov $1, %eax\n\tret\n"

__asm__(".text\n"
        "stores: " STORES "ret\n"
        "stores_and_jumps: " STORES "lea 2f(%rip), %rax\n\tpush %rax\n\tret\n\t2: ret\n"
        ".type in_step, @function\n\tin_step: call stores\n\t" ASKS ".size in_step, .-in_step\n"
        ".type out_of_step, @function\n\tout_of_step: call stores_and_jumps\n\t" ASKS ".size out_of_step, .-out_of_step\n");

int main(void) {
    long sum = 0;
    for (long below = 9; below < 120; below += 3)
        sum += in_step(below) + out_of_step(below);
    printf("%ld\n", sum);
    return 0;
}
