/* Undefined bytes through shared memory seen at two addresses, through a file, and through a forked child.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    volatile int sum = 0;
    int undefined, fd = memfd_create("x", 0);
    ftruncate(fd, 4096);
    int *a = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int *b = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    a[0] = undefined;
    if (a[0] == 3) /* undefined */
        sum++;
    if (b[0] == 3) /* another address: defined */
        sum++;
    pwrite(fd, &undefined, 4, 64); /* uninitialised bytes */
    if (a[16])
        sum++;
    a[20] = undefined;
    pread(fd, a + 20, 4, 64);
    if (a[20])
        sum++;
    return 0;
}
