/* System calls with undefined numbers in registers. */
#include <stdlib.h>
#include <unistd.h>
#include <valgrind/memcheck.h>

int main(void) {
    int *p = malloc(2 * sizeof *p);
    p[1] = 0;
    int fd = dup(0), out = dup(0);
    size_t n = (size_t)(p[0] & 0);
    VALGRIND_MAKE_MEM_UNDEFINED(&fd, sizeof fd);
    VALGRIND_MAKE_MEM_UNDEFINED(&out, sizeof out);
    ssize_t got = write(out, "x", 0);
    got += lseek(fd, (off_t)(p[0] & 4), SEEK_SET);
    got += write(1, "", n);
    got += close(fd);
    free(p);
    return got == 1234;
}
