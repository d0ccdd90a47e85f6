/* The kernel writes, for a system call, to one mapping of a file; code of it runs in another one, and nobody has the
 * file open any more. */
#include "code.h"
#include <fcntl.h>
#include <sys/uio.h>

int main(void) {
    char name[] = "/tmp/interpose-views-XXXXXX";
    int fd = mkstemp(name), pipes[2];
    require(fd >= 0 && ftruncate(fd, 4096) == 0 && pipe(pipes) == 0, name);
    uint8_t *writable = map_file(fd, 4096, RW, MAP_SHARED);
    put(writable, 1);
    close(fd);
    fd = open(name, O_RDONLY);
    uint8_t *code = map_file(fd, 4096, RX, MAP_PRIVATE);
    close(fd);
    unlink(name);
    long sum = ((fn)code)();
    for (int i = 2; i < 40; i++) {
        uint8_t next[6];
        put(next, i * i);
        require(write(pipes[1], next, sizeof next) == sizeof next, "write");
        struct iovec parts[2] = {{writable, 2}, {writable + 2, 4}};
        if (i % 2)
            require(read(pipes[0], writable, sizeof next) == sizeof next, "read");
        else
            require(readv(pipes[0], parts, 2) == sizeof next, "readv");
        for (int k = 0; k < 3; k++) sum = sum * 31 % 1000003 + ((fn)code)();
    }
    printf("%ld\n", sum);
    return 0;
}
