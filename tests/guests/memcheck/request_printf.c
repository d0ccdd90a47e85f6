/* VALGRIND_PRINTF, with a backtrace, RUNNING_ON_VALGRIND, and errors switched off and counted. */
#include <stdlib.h>
#include <valgrind/valgrind.h>

static volatile int sink;

static void __attribute__((noinline)) wrong(int *p) { sink = p[1]; }

int main(void) {
    int *p = malloc(4);
    VALGRIND_PRINTF("number %d text %s hex %x\n", -5, "abc", 255u);
    VALGRIND_PRINTF_BACKTRACE("here %c\n", 'x');
    if (!RUNNING_ON_VALGRIND)
        return 1;
    VALGRIND_DISABLE_ERROR_REPORTING;
    wrong(p);
    VALGRIND_ENABLE_ERROR_REPORTING;
    if (VALGRIND_COUNT_ERRORS != 0)
        return 2;
    wrong(p);
    wrong(p);
    free(p);
    return VALGRIND_COUNT_ERRORS == 2 ? 0 : 3;
}
