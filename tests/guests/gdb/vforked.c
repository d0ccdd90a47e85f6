#include <spawn.h>
#include <sys/wait.h>
#include <stdlib.h>
extern char **environ;
int common(int n) { return n + 1; }
int main(void) {
    pid_t child;
    char *words[] = {"true", 0};
    if (posix_spawn(&child, "/bin/true", 0, 0, words, environ)) return 9;
    int status = 1;
    waitpid(child, &status, 0);
    common(7);
    return WEXITSTATUS(status);
}
