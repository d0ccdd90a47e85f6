#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>
extern char **environ;
int shared;
int said(int n) { return n + 1; }
static int result(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return said(WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status));
}
static int spawned(char *program, char *what) {
    char *words[] = {program, what, 0};
    pid_t child;
    return posix_spawn(&child, program, 0, 0, words, environ) ? 99 : result(child);
}
int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "child")) return said(40);
    if (argc > 1) return spawned(argv[0], "child") + 1;
    int sum = spawned(argv[0], "family"); /* 44: both of them, and the two here, add one */
    pid_t child = vfork();
    if (child == 0) {
        shared = 6;
        _exit(7);
    }
    sum += result(child); /* 8 */
    if ((child = vfork()) == 0) {
        execl("/nowhere/at/all", "all", (char *)0);
        _exit(8);
    }
    sum += result(child); /* 9 */
    if ((child = vfork()) == 0) kill(getpid(), SIGKILL);
    sum += result(child); /* 110 */
    printf("sum %d\n", sum);
    return sum == 171 && shared == 6 ? 3 : 4;
}
