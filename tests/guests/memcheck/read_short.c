/* read() into a block that is too small, and what it read there is defined. */
#include <stdlib.h>
#include <unistd.h>

int main(void) {
    int fds[2], r = 0;
    if (pipe(fds) || write(fds[1], "0123456789", 10) != 10)
        return 1;
    char *p = malloc(4), *q = malloc(8);
    r += read(fds[0], p, 6) != 6;
    r += read(fds[0], q, 8) != 4;
    if (q[3] != '9')
        r++;
    if (q[4] == 'x')
        r += 0;
    free(p);
    free(q);
    return r;
}
