/* Frames that a longjmp from a handler leaves, on the stack that the signal has interrupted: what they held is
 * undefined for the next ones, and they are gone from stack traces.
 * @options: --num-callers=3 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

static volatile int seen;
static sigjmp_buf back;

static void leaf(void) { /* in the red zone */
    volatile char x[8];
    if (x[7])
        seen++;
}

static void frame(void) {
    volatile char x[200];
    for (int i = 0; i < 200; i++)
        if (x[i])
            seen++;
}

static void deep(void) {
    volatile char x[20000];
    for (int i = 0; i < 20000; i++) x[i] = 1;
    raise(SIGALRM);
}

static void far(void) {
    volatile char x[16000];
    if (x[100])
        seen++;
}

static void handler(int s) { siglongjmp(back, 1); }

static void one(void) {
    if (!sigsetjmp(back, 1))
        raise(SIGALRM);
    leaf();
}

static void two(void) {
    if (!sigsetjmp(back, 1))
        raise(SIGALRM);
    frame();
}

static void three(void) {
    if (!sigsetjmp(back, 1))
        deep();
    far();
}

static void all(int flags) {
    char *p = malloc(65536);
    stack_t s = {.ss_sp = p, .ss_size = 65536, .ss_flags = flags}, none = {.ss_flags = SS_DISABLE};
    sigaltstack(&s, 0);
    one();
    sigaltstack(&s, 0);
    two();
    sigaltstack(&s, 0);
    three();
    sigaltstack(&none, 0);
    free(p);
}

int main(void) {
    struct sigaction a = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGALRM, &a, 0);
    all(0);
    all((int)(1u << 31)); /* SS_AUTODISARM */
    return 0;
}
