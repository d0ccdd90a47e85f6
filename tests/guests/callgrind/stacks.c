/* Several stacks: coroutines of makecontext, above and below each other; handlers on their own stack, left by longjmp. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))
#define SIZE 65536

NOINLINE void leaf(void) { __asm__ volatile("nop; nop; nop"); }

static ucontext_t loop, one, two;
static int left[2];

NOINLINE void step(int which) {
    leaf();
    left[which]--;
}
NOINLINE void to(ucontext_t *from, ucontext_t *next) { swapcontext(from, next); }
NOINLINE void worker(int which) {
    while (left[which]) {
        step(which);
        to(which ? &two : &one, &loop);
    }
}
/* To each other, without the loop. */
NOINLINE void partner(int which) {
    while (left[which]) {
        step(which);
        if (which)
            to(&two, &one);
        else
            to(&one, &two);
    }
}
NOINLINE void coroutines(void (*f)(int), int turns) {
    char *stacks = mmap(0, 3 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    left[0] = left[1] = turns;
    ucontext_t *all[] = {&one, &two};
    for (int i = 0; i < 2; i++) {
        getcontext(all[i]);
        all[i]->uc_stack.ss_sp = stacks + i * SIZE;
        all[i]->uc_stack.ss_size = SIZE;
        all[i]->uc_link = &loop;
        makecontext(all[i], (void (*)(void))f, 1, i);
    }
    if (f == worker) {
        for (int i = 0; i < turns; i++) {
            to(&loop, &one);
            to(&loop, &two);
            leaf();
        }
    } else {
        to(&loop, &one);
    }
    munmap(stacks, 3 * SIZE);
}
NOINLINE void after(void) { leaf(); }

static sigjmp_buf out;
NOINLINE void handler(int signal) {
    (void)signal;
    leaf();
    siglongjmp(out, 1);
}
NOINLINE void faulting(volatile int *nowhere) {
    leaf();
    *nowhere = 1;
    leaf();
}
NOINLINE void guarded(void) {
    if (!sigsetjmp(out, 1)) faulting((volatile int *)8);
    leaf();
}
NOINLINE void handlers(int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(SIGSEGV, &action, 0);
    for (int i = 0; i < 3; i++) guarded();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "loop")) coroutines(worker, 5);
    if (!strcmp(what, "each-other")) coroutines(partner, 5);
    if (!strcmp(what, "handlers")) handlers(0);
    if (!strcmp(what, "other-stack")) {
        stack_t stack = {.ss_sp = malloc(SIZE), .ss_size = SIZE};
        sigaltstack(&stack, 0);
        handlers(SA_ONSTACK);
    }
    after();
    return 0;
}
