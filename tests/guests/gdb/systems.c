#include <stdlib.h>
#include <sys/wait.h>
int common(int n) { return n + 1; }
int main(void) {
    int status = system("exit 5");
    return common(WEXITSTATUS(status));
}
