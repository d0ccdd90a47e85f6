/* A forked child says nothing, until it executes another program.
 * @options: --child-silent-after-fork=yes */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    char *p = malloc(3);
    int status;
    if (fork() == 0) {
        p[3] = 1;
        p = malloc(10);
        _exit(0);
    }
    wait(&status);
    p[4] = 1;
    free(p);
    return status;
}
