/* A child of vfork that ends without executing anything: by _exit, or with an argument by a signal. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char *volatile kept = malloc(10);
    int status;
    (void)argv;
    pid_t child = vfork();
    if (child == 0) {
        if (argc > 1) raise(SIGABRT);
        _exit(3);
    }
    waitpid(child, &status, 0);
    printf("%d %d %d\n", child, WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    free(kept);
    return 0;
}
