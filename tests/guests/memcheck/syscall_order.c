/* Of a call, all registers are told before any memory. */
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

int main(void) {
    int *u = malloc(40);
    char *b = malloc(100);
    write(99, b, (u[1] & 3) + 4);
    write(u[0] | 99, b + 98, (u[1] & 3) + 4);
    read(u[2] | 99, b + 98, u[3] + 4);
    pwrite(99, b, 5, u[5]);
    poll((struct pollfd *)b, u[7] + 1, u[8]);
    writev(99, (struct iovec *)b, u[1] & 1);
    mmap((void *)(long)u[9], u[1], u[2], u[3], u[4], u[5]);
    return 0;
}
