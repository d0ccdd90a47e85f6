/* Wrapped before and after a fork, in parent and child. */
#include <sys/wait.h>
#include <unistd.h>
#include "header.h"
static int wraps;
NOINLINE int foo(int x) { return x + 1; }
NOINLINE int bar(int x) { return x + 2; }
int I_WRAP_SONAME_FNNAME_ZU(NONE, foo)(int x) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    wraps++;
    CALL_FN_W_W(result, fn, x);
    return result * 10;
}
int I_WRAP_SONAME_FNNAME_ZU(NONE, bar)(int x) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_W(result, fn, x);
    return result * 10;
}
int main(void) {
    int status;
    printf("%d\n", foo(1));
    fflush(stdout);
    if (fork() == 0) {
        int a = foo(2), b = bar(2);
        printf("child %d %d %d\n", a, b, wraps);
        fflush(stdout);
        _exit(5);
    }
    wait(&status);
    int a = foo(3), b = bar(3);
    printf("parent %d %d %d status %d\n", a, b, wraps, WEXITSTATUS(status));
    return 0;
}
