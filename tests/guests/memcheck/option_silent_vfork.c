/* --child-silent-after-fork=yes is about children by vfork, too: what they do is not reported, also not as their
 * parent's, and what the parent does in the same place is.
 * @options: --child-silent-after-fork=yes */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void write_behind(char *block) { block[4] = 1; }

int main(void) {
    char *block = malloc(4);
    int status;
    pid_t child = 0;
    for (int i = 0; i < 2; i++) {
        if (i || !(child = vfork())) write_behind(block);
        if (!child) _exit(3);
    }
    waitpid(child, &status, 0);
    free(block);
    return WEXITSTATUS(status);
}
