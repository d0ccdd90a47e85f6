/* A fault in the program's own code, handled by jumping out, several times; then a real one. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
static sigjmp_buf out;
static void handler(int n) { siglongjmp(out, n); }
int main(void) {
    volatile int times = 0;
    char *p = malloc(3);
    signal(SIGSEGV, handler);
    while (times < 3)
        if (!sigsetjmp(out, 1)) {
            times++;
            *(volatile char *)(long)(times * 16) = 1;
        }
    signal(SIGSEGV, SIG_DFL);
    p[3] = 1;
    *(volatile int *)8 = 1;
    return 0;
}
