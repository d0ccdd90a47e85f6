/* Locals without a value on stacks that lie in the program's data, which was defined: an alternate signal
 * stack, contexts over arrays, registered or not, a process's.  What is kept at the lower end stays defined.
 *
 * @options: --num-callers=2 */
#define _GNU_SOURCE
#include <alloca.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <valgrind/valgrind.h>

#define SIZE 65536

/* So far apart that a step from one to another is no frame's (--max-stackframe). */
static struct {
    char gap[4 << 20], stack[SIZE];
} far[5];
static char *alternate = far[0].stack, *plain = far[1].stack, *second = far[2].stack, *named = far[3].stack,
            *cloned = far[4].stack;
static char filled[SIZE] = {1}; /* in .data */
static ucontext_t home, here, there;
static volatile int seen;

static void leaf(void) { /* in the red zone */
    volatile int x;
    if (x) seen++;
}

static void frame(void) {
    volatile int x[1000];
    if (x[3]) seen++;
    if (x[900]) seen++;
    leaf();
}

static void variable(int n) {
    volatile int *x = alloca(n);
    if (x[n / 4 - 1]) seen++;
}

static void many(int a, int b, int c, int d, int e, int f, int g, int h) {
    volatile int x, y = a + h;
    if (x) seen++;
    if (y > 100) seen++;
}

static void handler(int s) { frame(); }

static void on_plain(void) {
    leaf();
    swapcontext(&here, &there);
    many(1, 2, 3, 4, 5, 6, 7, 8);
}
static void on_second(void) {
    frame();
    swapcontext(&there, &here);
}
static void on_named(void) { variable(1600); }
static void on_filled(void) {
    variable(800);
    frame();
    raise(SIGUSR1);
    variable(400);
}
static int on_cloned(void *p) {
    variable(80);
    frame();
    return 0;
}

static void make(ucontext_t *c, char *stack, void (*f)(void)) {
    getcontext(c);
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = SIZE;
    c->uc_link = &home;
    makecontext(c, f, 0);
}

static void check(char *stack, int canary) {
    if (*(int *)stack != canary) printf("overwritten\n");
}

int main(void) {
    stack_t s = {.ss_sp = alternate, .ss_size = SIZE};
    struct sigaction a = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    int canary = 0x5afe;
    for (int i = 0; i < 2; i++) *(int *)(i ? plain : alternate) = canary;
    sigaltstack(&s, 0);
    sigaction(SIGUSR1, &a, 0);
    raise(SIGUSR1);
    check(alternate, canary);

    make(&here, plain, on_plain);
    make(&there, second, on_second);
    swapcontext(&home, &here);
    check(plain, canary);
    check(second, 0);

    unsigned id = VALGRIND_STACK_REGISTER(named, named + SIZE);
    make(&here, named, on_named);
    swapcontext(&home, &here);
    VALGRIND_STACK_DEREGISTER(id);

    make(&here, filled, on_filled);
    swapcontext(&home, &here);
    check(filled, 1);

    waitpid(clone(on_cloned, cloned + SIZE, SIGCHLD, 0), 0, 0);
    return 0;
}
