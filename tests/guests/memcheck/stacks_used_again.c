/* A stack in a heap block, to whose top RSP comes again and again: where it has become defined meanwhile, locals
 * without a value are told as on a new one.
 *
 * @options: --num-callers=1 */
#include <stdlib.h>
#include <ucontext.h>
#include <valgrind/memcheck.h>

#define SIZE 65536
static ucontext_t home, here;
static volatile int seen;

static void deep(void) {
    volatile char large[20000];
    large[0] = 1;
    seen += large[0];
}

static void first(void) {
    volatile int x[10];
    deep();
    if (x[3]) seen++;
}

static void second(void) {
    volatile int x[10];
    if (x[3]) seen++;
}

static void third(void) {
    volatile int x[1000];
    if (x[5]) seen++;
}

static void enter(char *stack, void (*f)(void)) {
    getcontext(&here);
    here.uc_stack.ss_sp = stack;
    here.uc_stack.ss_size = SIZE;
    here.uc_link = &home;
    makecontext(&here, f, 0);
    swapcontext(&home, &here);
}

int main(void) {
    char *stack = calloc(1, SIZE);
    for (int i = 0; i < 5; i++) enter(stack, first);
    VALGRIND_MAKE_MEM_DEFINED(stack, SIZE);
    enter(stack, second);
    for (int i = 0; i < 5; i++) enter(stack, deep);
    VALGRIND_MAKE_MEM_DEFINED(stack, SIZE);
    enter(stack, third);
    free(stack);
    return 0;
}
