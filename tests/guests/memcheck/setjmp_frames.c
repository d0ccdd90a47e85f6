/* longjmp over frames whose locals hold the only pointer, then the frames' bytes are looked at again.
 * @options: --leak-check=full */
#include <setjmp.h>
#include <stdlib.h>

static jmp_buf out;
static volatile int *dead;

static void __attribute__((noinline)) deep(int n) {
    volatile int local[20];
    local[3] = n;
    if (n == 0) {
        dead = local;
        volatile char *held = malloc(33);
        held[0] = 1;
        longjmp(out, 7);
    }
    deep(n - 1);
}

static void __attribute__((noinline)) fresh(void) {
    volatile int local[200];
    if (local[3] == 5)
        dead = 0;
}

int main(void) {
    int code = setjmp(out);
    if (code == 0)
        deep(10);
    int seen = *(volatile int *)dead; /* below the stack pointer's red zone */
    fresh();
    return code == 7 && seen == 77;
}
