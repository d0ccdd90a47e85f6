// Call stacks: plain calls, tail calls, deep recursion, longjmp, signal handlers on both kinds of stack.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))
volatile int in_leaf, in_tail, in_deep, in_handler, after_handler, after_jump, in_nested, after_nested, at_end;
jmp_buf jump;
sigjmp_buf out;

KEEP void leaf(void) { in_leaf = 1; }
KEEP void middle(void) {
    leaf();
    __asm__ volatile("" ::: "memory");
}
KEEP void tail_target(void) { in_tail = 1; }
KEEP __attribute__((optimize("O2"))) void tail_caller(void) { tail_target(); }
KEEP void deep(int n) {
    if (n == 0)
        in_deep = 1;
    else
        deep(n - 1);
    __asm__ volatile("" ::: "memory");
}
KEEP void throws(int n) {
    if (n == 0) longjmp(jump, 1);
    throws(n - 1);
    __asm__ volatile("" ::: "memory");
}
KEEP void jumped(void) {
    if (setjmp(jump) == 0) throws(5);
    after_jump = 1;
}
void handler(int sig) { in_handler = 1; }
KEEP void interrupted(void) {
    raise(SIGUSR1);
    after_handler = 1;
}
KEEP void inside(void) {
    in_nested = 1;
    siglongjmp(out, 1);
}
void leaves(int sig) { inside(); }
KEEP void left(void) {
    if (sigsetjmp(out, 1) == 0) raise(SIGUSR2);
    after_nested = 1;
}

int main(void) {
    middle();
    tail_caller();
    deep(400);
    jumped();
    // Where signal stacks lie decides nothing: above and below this thread's stack.
    struct sigaction plain = {.sa_handler = handler}, other = {.sa_handler = leaves, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &plain, 0);
    sigaction(SIGUSR2, &other, 0);
    interrupted();
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, 0);
    left();
    left();
    char *high = mmap((void *)0x7fffff000000 /* a hint */, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack.ss_sp = high;
    sigaltstack(&stack, 0);
    left();
    at_end = 1;
    return 0;
}
