/* write() of heap blocks: undefined, too short, released. */
#include <stdlib.h>
#include <unistd.h>

int main(void) {
    int fds[2];
    if (pipe(fds))
        return 1;
    char *p = malloc(20);
    p[0] = 1;
    ssize_t n = write(fds[1], p, 20);
    char *q = calloc(1, 10);
    n += write(fds[1], q, 12);
    free(q);
    n += write(fds[1], q, 10);
    free(p);
    return n == 0;
}
