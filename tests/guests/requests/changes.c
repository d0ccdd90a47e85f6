/* Changes the options that it is given while it runs, then makes one error of each kind that they concern, forks, and
 * executes a program. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <interpose/interpose.h>
static volatile char sink;
static char *volatile kept;
__attribute__((noinline)) static void again(int n, char *p) {
    if (n) {
        again(n - 1, p);
        return;
    }
    sink = p[10];
}
int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) INTERPOSE_CLO_CHANGE(argv[i]);
    char *volatile a = malloc(10);
    again(3, a);
    free(a);
    char *volatile other = malloc(300);
    sink = a[3];
    a = realloc(other, 0);
    kept = malloc(33);
    a = malloc(77);
    a = NULL;
    int status;
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    waitpid(pid, &status, 0);
    pid = fork();
    if (pid == 0) execl("/bin/true", "true", (char *)NULL);
    waitpid(pid, &status, 0);
    return 0;
}
