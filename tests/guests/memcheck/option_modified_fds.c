/* New descriptors have high numbers, so that a stale small one shows.
 * @ours: --modify-fds=high
 * @options: -q */
#include <fcntl.h>
#include <unistd.h>
int main(void) {
    int fd = open("/dev/null", O_RDONLY), other = dup(fd);
    int ok = other != fd && read(fd, &ok, 0) == 0;
    close(fd);
    close(other);
    char *p = 0;
    return !ok;
}
