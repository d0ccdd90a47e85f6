/* What io_uring reads into the program's memory is defined; what a request leaves alone is not.
 * @expect: Conditional jump or move depends on uninitialised value(s) at main
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "uring.h"

static int run(int op, int fd, void *buffer, unsigned len, unsigned long off) {
    unsigned flags;
    return submit(
        (struct io_uring_sqe){.opcode = op, .fd = fd, .addr = (unsigned long)buffer, .len = len, .off = off}, &flags);
}

__attribute__((noinline)) static int look(const char *s, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        if (s[i] == 'a') sum++;
    return sum;
}

int main(void) {
    char *buffer = malloc(300), *other = malloc(64), *third = malloc(64);
    int pair[2];
    pipe(pair);
    int usable = make_ring(4);
    write(pair[1], "banana, ananas", 14);
    int got = usable ? run(IORING_OP_READ, pair[0], buffer, 14, -1) : read(pair[0], buffer, 14);
    printf("%d %d\n", got, look(buffer, 14));
    struct iovec v[2] = {{other, 6}, {third, 8}};
    write(pair[1], "banana, ananas", 14);
    got = usable ? run(IORING_OP_READV, pair[0], v, 2, -1) : readv(pair[0], v, 2);
    printf("%d %d %d\n", got, look(other, 6), look(third, 8));
    struct statx *st = malloc(sizeof *st);
    got = usable ? run(IORING_OP_STATX, -100, "/", STATX_MODE, (unsigned long)st) : statx(-100, "/", 0, STATX_MODE, st);
    printf("%d %d\n", got, S_ISDIR(st->stx_mode));
    if (buffer[20] == 'a') write(1, "", 0);
    return 0;
}
