/* STACK_REGISTER, STACK_CHANGE and STACK_DEREGISTER: stacks in a mapping, registered by either end first. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <valgrind/valgrind.h>

static ucontext_t home, other;
static volatile int sum;

static void run(void) {
    int local[4];
    if (local[1] == 3) /* undefined on that stack */
        sum++;
    swapcontext(&other, &home);
}

int main(void) {
    char *map = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned id = VALGRIND_STACK_REGISTER(map, map + 32767);
    unsigned second = VALGRIND_STACK_REGISTER(map + 65535, map + 32768);
    VALGRIND_STACK_CHANGE(id, map, map + 16383);
    VALGRIND_STACK_CHANGE(id, map, map + 32767);
    getcontext(&other);
    other.uc_stack.ss_sp = map;
    other.uc_stack.ss_size = 32768;
    makecontext(&other, run, 0);
    swapcontext(&home, &other);
    VALGRIND_STACK_DEREGISTER(second);
    VALGRIND_STACK_DEREGISTER(id);
    VALGRIND_STACK_DEREGISTER(id);
    munmap(map, 65536);
    return id == second;
}
