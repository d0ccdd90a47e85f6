/* A null pointer is read and written under a handler for SIGSEGV, which goes on elsewhere. */
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

static sigjmp_buf back;
static volatile int caught;

static void on_segv(int sig) {
    (void)sig;
    caught++;
    siglongjmp(back, 1);
}

int main(void) {
    volatile int *p = NULL;
    signal(SIGSEGV, on_segv);
    if (sigsetjmp(back, 1) == 0)
        caught += *p;
    if (sigsetjmp(back, 1) == 0)
        p[3] = 1;
    if (sigsetjmp(back, 1) == 0)
        p[5] += 1;
    return caught != 3;
}
