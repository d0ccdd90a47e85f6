/* No error: longjmp over frames whose stack is used again afterwards. */
#include <setjmp.h>
#include <string.h>

static jmp_buf back;

static void __attribute__((noinline)) deep(int n) {
    volatile char pad[300];
    memset((void *)pad, n, sizeof pad);
    if (n == 0)
        longjmp(back, 5);
    deep(n - 1);
    pad[0] = 1;
}
static int __attribute__((noinline)) clean(void) {
    char a[2000];
    memset(a, 1, sizeof a);
    int s = 0;
    for (unsigned i = 0; i < sizeof a; i++)
        s += a[i];
    return s == 2000;
}

int main(void) {
    volatile int rounds = 0;
    int code = setjmp(back);
    if (code != 0 && code != 5)
        return 1;
    if (!clean())
        return 2;
    if (rounds++ < 20)
        deep(20);
    return 0;
}
