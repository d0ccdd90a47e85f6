/* Coroutines that go over to one another at random (argument: the seed), and now and then ask for a stack trace below
 * the functions that are under way by their own account.  SWITCH: how they do. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <valgrind/valgrind.h>

#define CONTEXT  1
#define ASSEMBLY 2
#define JUMP     3
#define MANY     14
#define STACK    65536

static char names[MANY][64];
static int depth[MANY], done[MANY], started[MANY], many, current, budget = 3000;
static unsigned long state;
static ucontext_t context[MANY];
static jmp_buf jump[MANY];
static void **saved[MANY];

static unsigned at_random(unsigned n) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(state >> 33) % n;
}

__attribute__((naked, noinline)) static void over(void ***from, void **to) {
    __asm__("push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15; mov %rsp, (%rdi); mov %rsi, %rsp\n\t"
            "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; ret");
}

static void go(int from, int to) {
    current = to;
    if (SWITCH == CONTEXT) {
        swapcontext(&context[from], &context[to]);
    } else if (SWITCH == ASSEMBLY) {
        over(&saved[from], saved[to]);
    } else if (!_setjmp(jump[from])) {
        if (to == 0 || started[to]++) _longjmp(jump[to], 1);
        setcontext(&context[to]);
    }
    current = from;
}

static void trace(void) {
    char want[sizeof names[0] + 1];
    int n = depth[current];
    for (int i = 0; i < n; i++) want[i] = names[current][n - 1 - i];
    want[n] = 0;
    VALGRIND_PRINTF_BACKTRACE("WANT %s%s\n", want, current ? "body" : "main");
}

static void step(int level);
#define FUNCTION(c)                                                                                                    \
    __attribute__((noinline)) static void f##c(int level) {                                                            \
        names[current][depth[current]++] = #c[0];                                                                      \
        step(level);                                                                                                   \
        depth[current]--;                                                                                              \
    }
FUNCTION(0)
FUNCTION(1)
FUNCTION(2)
FUNCTION(3)

__attribute__((noinline)) static void step(int level) {
    static void (*const functions[])(int) = {f0, f1, f2, f3};
    for (int turn = 0; turn < 3; turn++) {
        if (--budget < 0) return;
        unsigned what = at_random(6), to;
        if (what < 2 && level < 12) {
            functions[at_random(4)](level + 1);
        } else if (what < 4) {
            to = at_random(3) && current ? 0 : at_random((unsigned)many);
            if ((int)to != current && !done[to]) go(current, (int)to);
        } else if (what == 4) {
            trace();
        } else {
            return;
        }
    }
}

static void body(void) {
    for (int i = 0; i < 10; i++) f0(0);
    done[current] = 1;
    for (;;) go(current, 0);
}

int main(int argc, char **argv) {
    (void)argc;
    state = (unsigned long)atol(argv[1]);
    many = 2 + (int)at_random(MANY - 2);
    for (int i = 1; i < many; i++) {
        char *stack = mmap((void *)(0x200000000 + i * 0x4000000), STACK, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        saved[i] = (void **)(stack + STACK - 64) - 8;
        saved[i][6] = (void *)body;
        getcontext(&context[i]);
        context[i].uc_stack.ss_sp = stack;
        context[i].uc_stack.ss_size = STACK - 1024;
        makecontext(&context[i], body, 0);
    }
    while (budget > 0) f3(0);
    return 0;
}
