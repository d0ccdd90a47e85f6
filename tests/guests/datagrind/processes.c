// fork, exec and vfork: each process has a file.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

volatile int in_parent, in_child, in_new;

int main(int argc, char **argv) {
    if (argc > 1) {
        in_new = 1;
        return 0;
    }
    in_parent = 1;
    if (fork() == 0) {
        in_child = 1;
        execl("/proc/self/exe", argv[0], "new", (char *)0);
        return 1;
    }
    int status;
    wait(&status);
    if (vfork() == 0) {
        execl("/proc/self/exe", argv[0], "new", (char *)0);
        _exit(1);
    }
    wait(&status);
    in_parent = 2;
    return WEXITSTATUS(status);
}
