/* Functions whose calls are marked. */
#include <setjmp.h>
#include <stdlib.h>

static jmp_buf place;
static volatile int sink;
static void *volatile block;

__attribute__((noinline)) long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) void jump(int a, int b) {
    sink = b;
    if (a) longjmp(place, 1);
}
__attribute__((noinline)) void last(void) { sink = 0; }

int main(void) {
    fib(2);
    if (!setjmp(place)) jump(5, 6);
    last();
    block = malloc(77);
    free(block);
    return 0;
}
