/* Locals without a value on stacks that clone gives a process, in memory that was defined before.  What is kept beside
 * such a stack stays defined, and so do frames between it and the maker's.
 * @options: --num-callers=2 -q */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#ifndef FLAGS
#define FLAGS 0
#endif
#define SIZE 65536
static volatile int seen;

static void leaf(void) { /* in the red zone */
    volatile char x[100];
    if (x[7])
        seen++;
}

static void deeper(void) {
    volatile char x[5000];
    x[1] = 1;
    if (x[2000])
        seen++;
}

/* One for each stack, so that its errors are its own. */
#define BODY(name)                                                                                                     \
    static int name(void *p) {                                                                                         \
        volatile int x[2000];                                                                                          \
        if (x[3])                                                                                                      \
            seen++;                                                                                                    \
        deeper();                                                                                                      \
        leaf();                                                                                                        \
        return 0;                                                                                                      \
    }

BODY(on_fresh)
BODY(on_painted)
BODY(on_zeroed)
BODY(on_array)

static void run(int (*body)(void *), char *stack) {
    *(int *)stack = 0x5afe;
    waitpid(clone(body, stack + SIZE, FLAGS | SIGCHLD, 0), 0, 0);
    if (*(int *)stack != 0x5afe)
        puts("overwritten");
}

static void in_frame(void) {
    char room[SIZE];
    int after = seen;
    memset(room, 0, sizeof room);
    run(on_array, room);
    if (after == 12345)
        puts("changed");
}

int main(void) {
    char *fresh = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *painted = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *zeroed = calloc(1, SIZE);
    memset(painted, 0xa5, SIZE);
    run(on_fresh, fresh);
    run(on_painted, painted);
    run(on_zeroed, zeroed);
    in_frame();
    free(zeroed);
    return seen == 12345;
}
