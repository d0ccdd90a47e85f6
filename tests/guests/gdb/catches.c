#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int common(int n) { return n + 1; }
static int wait_for(pid_t child) {
    int status;
    while (waitpid(child, &status, 0) != child) continue;
    return WEXITSTATUS(status);
}
int main(int argc, char **argv) {
    if (argc > 1) return common(9);
    pid_t child = fork();
    if (child == 0) _exit(common(1));
    int first = wait_for(child);
    child = vfork();
    if (child == 0) _exit(3);
    int second = wait_for(child);
    common(first * 10 + second);
    execl(argv[0], argv[0], "again", (char *)0);
    return 1;
}
