/* A function is redirected however it is reached: falling through, jumping, by a table, by tail call. */
#include "header.h"
long reach_fall(long), reach_jump(long), reach_tail(long), inner(long), reach_back(long);
__asm__(
    ".text\n"
    ".globl reach_fall, reach_jump, reach_tail, inner, reach_back\n"
    ".type reach_back, @function\n"
    "reach_back: addq $5, %rdi\n test %rdi, %rdi\n jnz inner\n ret\n .size reach_back, .-reach_back\n"
    ".type reach_fall, @function\n"
    "reach_fall: addq $1, %rdi\n nop\n .size reach_fall, .-reach_fall\n"
    ".type inner, @function\n"
    "inner: leaq (%rdi,%rdi), %rax\n ret\n .size inner, .-inner\n"
    ".type reach_jump, @function\n"
    "reach_jump: addq $2, %rdi\n jmp inner\n .size reach_jump, .-reach_jump\n"
    ".type reach_tail, @function\n"
    "reach_tail: addq $3, %rdi\n leaq inner(%rip), %rax\n jmp *%rax\n .size reach_tail, .-reach_tail\n");
long I_WRAP_SONAME_FNNAME_ZU(NONE, inner)(long x) {
    long result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_W(result, fn, x);
    return -result;
}
int main(void) {
    for (int i = 0; i < 3; i++)
        printf("%ld %ld %ld %ld\n", reach_fall(i), reach_jump(i), reach_tail(i), reach_back(i));
    return 0;
}
