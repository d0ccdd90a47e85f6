#include <sys/wait.h>
#include <unistd.h>
int work(int n) { return n + 1; }
int main(void) {
    for (int i = 1; i < 3; i++) {
        if (fork()) continue;
        if (i == 1) {
            pid_t grandchild = fork();
            if (!grandchild) _exit(work(100) - 94);
            work(i);
            int status = 0;
            waitpid(grandchild, &status, 0);
            _exit(WEXITSTATUS(status) + i);
        }
        work(i);
        _exit(i);
    }
    work(0);
    int sum = 0, status;
    while (wait(&status) > 0) sum += WEXITSTATUS(status);
    return sum;
}
