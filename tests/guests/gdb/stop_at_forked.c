#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int status;
    pid_t child = fork();
    if (child == 0) _exit(3);
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
