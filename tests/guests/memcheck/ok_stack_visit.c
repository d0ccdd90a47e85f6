/* No error: a function visits a lower stack of the same mapping and comes back by a register, as Go's nanotime does
 * on its thread's stack; what lies between the two stacks stays defined. */
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define SIZE 65536
static ucontext_t main_context, routine;
static char *area;
static int wrong;

static void visit(char *stack) {
    __asm__ volatile("mov %%rsp, %%r12\n\t"
                     "mov %0, %%rsp\n\t"
                     "push %%r12\n\t"
                     "pop %%r12\n\t"
                     "mov %%r12, %%rsp"
                     :
                     : "r"(stack)
                     : "r12", "memory");
}

static void run(void) {
    memset(area + SIZE, 7, SIZE);
    visit(area + SIZE);
    for (int i = 0; i < SIZE; i++)
        if (area[SIZE + i] != 7)
            wrong++;
}

int main(void) {
    area = mmap(0, 16 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    getcontext(&routine);
    routine.uc_stack.ss_sp = area + 2 * SIZE;
    routine.uc_stack.ss_size = SIZE;
    routine.uc_link = &main_context;
    makecontext(&routine, run, 0);
    swapcontext(&main_context, &routine);
    return wrong != 0;
}
