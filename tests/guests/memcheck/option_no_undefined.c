/* --undef-value-errors=no: only addressability is checked.
 * @options: --undef-value-errors=no */
#include <stdlib.h>
#include <unistd.h>

int main(void) {
    int *p = malloc(4), fds[2], n = 0;
    if (*p == 1)
        n++;
    if (pipe(fds) || write(fds[1], p, 4) != 4)
        return 1;
    volatile int m = p[1];
    (void)m;
    free(p);
    return n * 0;
}
