#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int common(int n) { return n + 1; }
int main(void) {
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 100; i++) common(i);
        _exit(5);
    }
    int status = 0;
    waitpid(child, &status, 0);
    common(77);
    return WEXITSTATUS(status);
}
