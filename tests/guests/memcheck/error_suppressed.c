/* Errors suppressed by a file, one kind and one place each; -s lists all.
 * @options: -s --suppressions=@DIR@/error_suppressed.supp */
#include <stdlib.h>

static volatile int sink;

static void __attribute__((noinline)) known(int *p) { sink = p[1]; }
static void __attribute__((noinline)) unknown(int *p) { sink = p[1]; }
static void __attribute__((noinline)) decides(int *p) {
    if (*p == 3)
        sink = 1;
}

int main(void) {
    int *p = malloc(4);
    for (int i = 0; i < 5; i++)
        known(p);
    unknown(p);
    decides(p);
    free(p);
    return 0;
}
