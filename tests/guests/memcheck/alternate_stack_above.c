/* Errors in handlers on an alternate stack further up than the stack that the signal came on, and after a jump out. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

static sigjmp_buf back;
static char *p;
static volatile char sink;

__attribute__((noinline)) static void wrong(int i) { sink = p[i]; }

static void handler(int sig) {
    wrong(4);
    free(p);
    p = malloc(4);
    siglongjmp(back, sig);
}

__attribute__((noinline)) static void interrupted(int n) {
    raise(SIGUSR2);
    sink = n;
}

__attribute__((noinline)) static void catches(int n) {
    if (!sigsetjmp(back, 1)) interrupted(n);
    wrong(5);
}

int main(void) {
    char array[65536];
    stack_t stack = {.ss_sp = array, .ss_size = sizeof array};
    struct sigaction act = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR2, &act, NULL);
    p = malloc(4);
    catches(1);
    wrong(6);
    free(p);
    return 0;
}
