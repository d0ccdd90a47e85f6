/* What is executed is followed, but what the pattern names.
 * @options: -q --trace-children=yes --trace-children-skip=*true --trace-children-skip-by-arg=nothing-such */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
int main(int argc, char **argv) {
    int status;
    char *p = malloc(3);
    if (argc > 1) {
        p[3] = 1;
        return 0;
    }
    if (fork() == 0) {
        execl(argv[0], argv[0], "again", (char *)0);
        _exit(1);
    }
    wait(&status);
    if (fork() == 0) {
        execl("/bin/true", "true", (char *)0);
        _exit(1);
    }
    wait(&status);
    p[4] = 1;
    return status;
}
