/* execve, execv and posix_spawn with arguments that are undefined, unreadable or absent. */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    char *argv[3] = {"true", 0, 0}, *env[1] = {0};
    char **heap = malloc(2 * sizeof *heap), *name = malloc(4);
    heap[0] = "x";
    execve("/nonexistent", heap, env);          /* heap[1] is not defined */
    execve("/nonexistent", (char **)8, env);    /* no memory */
    execve((char *)16, argv, env);
    argv[1] = (char *)24;
    execve("/nonexistent", argv, env);
    argv[1] = name;
    execve("/nonexistent", argv, env);          /* a string never written */
    name[0] = 'a', name[1] = 'b', name[2] = 'c', name[3] = 'd';
    execve("/nonexistent", argv, env);          /* a string without end */
    execve("/nonexistent", 0, 0);
    argv[1] = 0;
    execve("/nonexistent", argv, heap);
    free(heap);
    execve("/nonexistent", heap, 0);
    free(name);
    return 0;
}
