/* No error: a process whose stack is an array in its maker's frame reads what that has beside the array, also below it.
 * @build: -O0 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

struct frame {
    int below;
    char stack[8192] __attribute__((aligned(16)));
    int above;
};

static int child(void *arg) {
    const struct frame *f = arg;
    if (f->below != 5)
        return 1;
    return f->above == 6 ? 7 : 2;
}

int main(void) {
    struct frame f = {.below = 5, .above = 6};
    int status = 0;
    waitpid(clone(child, f.stack + sizeof f.stack, SIGCHLD, &f), &status, 0);
    printf("%d\n", WEXITSTATUS(status));
    return f.below != 5;
}
