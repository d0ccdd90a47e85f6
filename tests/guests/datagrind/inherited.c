// A forked child uses, frees and reallocates blocks that its parent has allocated: more than a buffer of records names.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 5000 };
char *volatile blocks[N];
char *volatile freed, *volatile big;

int main(void) {
    for (int i = 0; i < N; i++) blocks[i] = malloc(16 + i % 50);
    freed = malloc(33);
    free(freed);
    big = malloc(1 << 20);
    if (fork() == 0) {
        blocks[7][3] = 1;
        for (int i = 0; i < N; i += 2) free(blocks[i]);
        big = realloc(big, 1 << 21);
        big[1 << 20] = 1;
        if (fork() == 0) {
            free(big);
            free(blocks[1]);
            _exit(0);
        }
        int status;
        wait(&status);
        _exit(WEXITSTATUS(status));
    }
    int status;
    wait(&status);
    return WEXITSTATUS(status);
}
