/* No error: coroutines on stacks that lie side by side in one mapping. */
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define SIZE 65536
static ucontext_t main_context, routine[4];
static int turns;

static void run(int id) {
    char local[2000];
    for (int i = 0; i < 4; i++) {
        memset(local, id + i, sizeof local);
        turns++;
        swapcontext(&routine[id], &routine[(id + 1) % 4]);
        for (unsigned k = 0; k < sizeof local; k++)
            if (local[k] != id + i)
                turns = -1000;
    }
    setcontext(&main_context);
}

int main(void) {
    char *stacks = mmap(0, 4 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 4; i++) {
        getcontext(&routine[i]);
        routine[i].uc_stack.ss_sp = stacks + i * SIZE;
        routine[i].uc_stack.ss_size = SIZE;
        routine[i].uc_link = &main_context;
        makecontext(&routine[i], (void (*)(void))run, 1, i);
    }
    swapcontext(&main_context, &routine[0]);
    munmap(stacks, 4 * SIZE);
    return turns != 16;
}
