/* No error: coroutines on heap blocks that take turns. */
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static ucontext_t main_context, routine[2];
static int order[20], n;

static void run(int id) {
    char local[1000];
    for (int i = 0; i < 5; i++) {
        memset(local, i, sizeof local);
        if (local[999] != i)
            return;
        order[n++] = id;
        swapcontext(&routine[id], &routine[1 - id]);
    }
    setcontext(&main_context);
}

int main(void) {
    char *stacks[2];
    for (int i = 0; i < 2; i++) {
        stacks[i] = malloc(32768);
        getcontext(&routine[i]);
        routine[i].uc_stack.ss_sp = stacks[i];
        routine[i].uc_stack.ss_size = 32768;
        routine[i].uc_link = &main_context;
        makecontext(&routine[i], (void (*)(void))run, 1, i);
    }
    swapcontext(&main_context, &routine[0]);
    free(stacks[0]);
    free(stacks[1]);
    return n != 10 || order[0] != 0 || order[1] != 1;
}
