/* No error: coroutines that share blocks and mappings with what they use: zeros that calloc and mmap gave below and
 * above the stack, other coroutines' living frames next to theirs, values in the red zone, jumps back and signals there.
 * @options: -q --leak-check=no --max-stackframe=32768 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "switch_stacks.h"

#define SIZE  65536
#define COUNT 4

struct routine {
    int turns; /* below the stack, zero */
    char zeros[100];
    char stack[SIZE];
    char more[100]; /* above it */
    void *sp;
    int done;
};
static struct routine *routines[COUNT], *running;
static void *home;
static jmp_buf back;
static volatile int sum;

static int leaf(int a) { /* locals in the red zone */
    volatile int x[8] = {a, a, a, a, a, a, a, a};
    return x[0] + x[7];
}

static int deep(int n) {
    volatile char page[300];
    memset((char *)page, n, sizeof page);
    int below = n ? deep(n - 1) : leaf(1);
    for (unsigned i = 0; i < sizeof page; i++)
        if (page[i] != (char)n)
            abort();
    return below + leaf(n);
}

static void handler(int number) {
    (void)number;
    sum += deep(3);
}

static void begin(void) {
    struct routine *self = running;
    int kept[200];
    for (int turn = 0; turn < 6; turn++) {
        for (unsigned i = 0; i < 200; i++) kept[i] = turn + (int)i;
        if (turn == 2)
            raise(SIGUSR1);
        if (turn == 3 && !setjmp(back)) {
            deep(5);
            longjmp(back, 1);
        }
        sum += deep(turn * 8);
        self->turns++;
        switch_stacks(&self->sp, home);
        for (unsigned i = 0; i < 200; i++)
            if (kept[i] != turn + (int)i)
                abort();
    }
    self->done = 1;
    switch_stacks(&self->sp, home);
}

static int look(const struct routine *r, int turns) {
    int wrong = r->turns != turns;
    for (unsigned i = 0; i < sizeof r->zeros; i++) wrong |= r->zeros[i] || r->more[i];
    return wrong;
}

static void prepare(struct routine *r) {
    void **sp = (void **)(((unsigned long)r->stack + SIZE) & ~15ul) - 2;
    sp[0] = (void *)begin;
    r->sp = sp - 6;
}

int main(void) {
    int result = 0;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, 0);
    routines[0] = calloc(1, sizeof **routines);
    struct routine *row = mmap(0, 3 * sizeof *row, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 1; i < COUNT; i++) routines[i] = row + i - 1;
    for (int i = 0; i < COUNT; i++) prepare(routines[i]);
    for (int turn = 1; turn <= 7; turn++)
        for (int i = 0; i < COUNT; i++) {
            running = routines[i];
            switch_stacks(&home, running->sp);
            result |= look(running, turn < 7 ? turn : 6);
            result |= running->done != (turn == 7);
        }
    free(routines[0]);
    return result;
}
