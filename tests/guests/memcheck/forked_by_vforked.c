/* What a child by vfork forks goes on with what both had met: an error of either counts there as met again.
 * @options: --num-callers=2 -s --error-exitcode=9 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "interpose/memcheck.h"

__attribute__((noinline)) static void of_parent(char *block) { block[4] = 1; }

__attribute__((noinline)) static void of_child(char *block) { block[5] = 1; }

__attribute__((noinline)) static void of_forked(char *block) { block[6] = 1; }

__attribute__((noinline)) static void meet(void (*error)(char *), char *block) {
    error(block);
    __asm__ volatile("");
}

static int ended(pid_t pid) {
    int status;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

int main(void) {
    char *block = malloc(4);
    meet(of_parent, block);
    pid_t pid = vfork();
    if (!pid) {
        meet(of_child, block);
        meet(of_parent, block);
        pid = fork();
        if (!pid) {
            meet(of_parent, block);
            meet(of_child, block);
            meet(of_child, block);
            VALGRIND_PRINTF("the forked one has met %d\n", (int)VALGRIND_COUNT_ERRORS);
            meet(of_forked, block);
            meet(of_forked, block);
            _exit(1);
        }
        _exit(ended(pid));
    }
    int status = ended(pid);
    VALGRIND_PRINTF("the parent has met %d; %d\n", (int)VALGRIND_COUNT_ERRORS, status);
    free(block);
    return status;
}
