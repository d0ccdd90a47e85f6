/* What a child by vfork meets is its own: told with its number, counted beside what its parent had met by then, for its
 * status, too, and not by its parent, who is told of the same place anew.  So is what a child of its own meets,
 * by vfork or fork.
 * @options: -s --error-exitcode=9 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "interpose/memcheck.h"

__attribute__((noinline)) static void write_behind(char *block, long by) { block[by] = 1; }

static int child(char *block, int how) {
    pid_t pid = how == 5 ? fork() : vfork();
    int status;
    if (pid) {
        waitpid(pid, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
    }
    write_behind(block, 4);
    if (how == 0) _exit(0);
    if (how == 1) {
        write_behind(block, 5);
        write_behind(block, 5);
        VALGRIND_PRINTF("the child has met %d\n", (int)VALGRIND_COUNT_ERRORS);
        kill(getpid(), SIGKILL);
    }
    if (how == 3) _exit(child(block, 0) + 1);
    if (how == 4) _exit(child(block, 5) + 1);
    if (how == 5) {
        write_behind(block, 5);
        _exit(2);
    }
    execl("/nonexistent", "nonexistent", NULL);
    write_behind(block, 6);
    raise(SIGABRT);
    _exit(1);
}

int main(void) {
    char *block = malloc(4);
    write_behind(block, 7);
    int sum = child(block, 0) + child(block, 1) + child(block, 2) + child(block, 3) + child(block, 4);
    VALGRIND_PRINTF("the parent has met %d; %d\n", (int)VALGRIND_COUNT_ERRORS, sum);
    write_behind(block, 4);
    free(block);
    return 0;
}
