/* The list of errors at the end, by their number, and the suppressions that were used.
 * @options: --show-error-list=yes --suppressions=@DIR@/error_suppressed.supp --default-suppressions=no */
#include <stdlib.h>

static int __attribute__((noinline)) known(const int *p, int i) { return p[i]; }

int main(void) {
    int *p = malloc(4);
    volatile int sum = 0;
    sum += p[1];
    for (int i = 0; i < 5; i++)
        sum += known(p, 2);
    free(p);
    sum += p[0];
    return 0;
}
