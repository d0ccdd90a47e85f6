/* A file that is mapped without access (fincore does) does not come into the page cache. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static char page[4096];

int main(void) {
    int fd = fileno(tmpfile());
    for (int i = 0; i < 4; i++) {
        if (write(fd, page, sizeof page) != sizeof page) return 1;
    }
    fsync(fd);
    if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0) return 1;
    unsigned char there[4] = {0};
    void *at = mmap(NULL, sizeof there * sizeof page, PROT_NONE, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) return 1;
    usleep(50000); /* a read may go on behind its back */
    if (mincore(at, sizeof there * sizeof page, there) != 0) return 1;
    printf("%d %d %d %d\n", there[0] & 1, there[1] & 1, there[2] & 1, there[3] & 1);
    return 0;
}
