/* Callers on the stack of a coroutine that was left and is come back to, in errors and for blocks.
 * @options: --num-callers=3 -q --leak-check=full */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define MANY 3
#define STACK 65536

static ucontext_t maker, coroutine[MANY];
static jmp_buf here, there[MANY];
static volatile char *p;
static char *leaked[2 * MANY];

__attribute__((noinline)) static void leave(int i, int jumps) {
    if (!jumps)
        swapcontext(&coroutine[i], &maker);
    else if (!_setjmp(there[i]))
        _longjmp(here, 1);
    p[10] = 1; /* error */
}

__attribute__((noinline)) static void inner(int i) {
    leave(i, 0);
    leaked[i] = malloc(20 + i);
    leave(i, 1);
    leaked[MANY + i] = malloc(30 + i);
}

__attribute__((noinline)) static void body(int i) {
    inner(i);
    _longjmp(here, 1);
}

__attribute__((noinline)) static void enter(int i, int jumps) {
    if (!jumps)
        swapcontext(&maker, &coroutine[i]);
    else if (!_setjmp(here))
        _longjmp(there[i], 1);
    p[12] = 1; /* error */
}

/* By contexts and back by a jump. */
__attribute__((noinline)) static void across(int i) {
    if (!_setjmp(here))
        swapcontext(&maker, &coroutine[i]);
    p[13] = 1; /* error */
}

int main(void) {
    char *stacks[MANY];
    p = malloc(10);
    for (int i = 0; i < MANY; i++) {
        getcontext(&coroutine[i]);
        coroutine[i].uc_stack.ss_sp = stacks[i] = malloc(STACK);
        coroutine[i].uc_stack.ss_size = STACK;
        makecontext(&coroutine[i], (void (*)(void))body, 1, i);
    }
    for (int i = 0; i < MANY; i++) enter(i, 0);
    for (int i = 0; i < MANY; i++) across(i);
    for (int i = 0; i < MANY; i++) enter(i, 1);
    for (int i = 0; i < 2 * MANY; i++) leaked[i] = 0;
    for (int i = 0; i < MANY; i++) free(stacks[i]);
    free((void *)p);
    return 0;
}
