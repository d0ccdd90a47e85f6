/* Descriptors that are open at the end, with where they were opened.
 * @options: --track-fds=yes */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void) {
    int fds[2];
    open("/dev/null", O_RDONLY);
    close(open("/dev/zero", O_RDONLY));
    socket(AF_INET, SOCK_DGRAM, 0);
    return 0;
}
