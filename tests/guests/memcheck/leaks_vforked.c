/* A search for leaks that a child by vfork asks for is its own: by thread 1, compared with the last one that its parent
 * had made, which goes on with that.
 * @options: --leak-check=full --show-leak-kinds=all */
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "interpose/memcheck.h"

static void *volatile first, *volatile second;
static volatile uintptr_t hidden;

__attribute__((noinline)) static void hide(void *volatile *pointer) {
    hidden = ~(uintptr_t)*pointer;
    *pointer = NULL;
}

__attribute__((noinline)) static void show(void *volatile *pointer) { *pointer = (void *)~hidden; }

__attribute__((noinline)) static void make(void) {
    first = malloc(10);
    second = malloc(20);
}

/* Nothing of the blocks' addresses stays where they were. */
__attribute__((noinline)) static void clear(void) {
    volatile char room[4096];
    for (unsigned i = 0; i < sizeof room; i++) room[i] = 0;
}

int main(void) {
    int status;
    make();
    clear();
    VALGRIND_DO_LEAK_CHECK;
    pid_t pid = vfork();
    if (!pid) {
        hide(&first);
        clear();
        VALGRIND_DO_ADDED_LEAK_CHECK;
        VALGRIND_DO_CHANGED_LEAK_CHECK;
        show(&first);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    VALGRIND_DO_CHANGED_LEAK_CHECK;
    hide(&second);
    clear();
    VALGRIND_DO_CHANGED_LEAK_CHECK;
    show(&second);
    free(first);
    free(second);
    return 0;
}
