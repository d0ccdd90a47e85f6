/* setjmp and longjmp across many frames, makecontext and swapcontext. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
static jmp_buf env;
static ucontext_t a, b, m;
static int deep(int n) {
    if (n == 0) longjmp(env, 7);
    return deep(n - 1) + 1;
}
static void ping(int n) {
    for (int i = 0; i < n; i++) {
        printf("ping %d\n", i);
        swapcontext(&a, &b);
    }
}
static void pong(int n) {
    for (int i = 0; i < n; i++) {
        printf("pong %d\n", i);
        swapcontext(&b, &a);
    }
}
int main(void) {
    volatile int rounds = 0;
    int r = setjmp(env);
    if (rounds++ < 100) deep(50);
    printf("rounds %d last %d\n", rounds, r);
    char *sa = malloc(65536), *sb = malloc(65536);
    getcontext(&a);
    a.uc_stack.ss_sp = sa;
    a.uc_stack.ss_size = 65536;
    a.uc_link = &m;
    makecontext(&a, (void (*)(void))ping, 1, 4);
    getcontext(&b);
    b.uc_stack.ss_sp = sb;
    b.uc_stack.ss_size = 65536;
    b.uc_link = &m;
    makecontext(&b, (void (*)(void))pong, 1, 4);
    swapcontext(&m, &a);
    puts("back");
    return 0;
}
