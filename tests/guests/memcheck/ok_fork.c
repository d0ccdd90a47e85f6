/* No error: a child exits, the parent goes on with its blocks; the child's report is its own.
 * @options: -q */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    char *p = malloc(100);
    memset(p, 1, 100);
    pid_t child = fork();
    if (child == 0) {
        p[5] = 2;
        char *q = malloc(10);
        q[0] = p[5];
        _exit(q[0] == 2 ? 7 : 1);
    }
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
        return 1;
    int ok = p[5] == 1;
    free(p);
    return !ok;
}
