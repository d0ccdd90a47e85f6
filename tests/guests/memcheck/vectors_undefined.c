/* writev() and sendmsg() with undefined parts. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

int main(void) {
    int fds[2];
    char *a = calloc(1, 10), *b = malloc(10);
    struct iovec v[2] = {{a, 10}, {b, 10}};
    struct msghdr m;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
        return 1;
    memset(&m, 0, sizeof m);
    m.msg_iov = v;
    m.msg_iovlen = 2;
    ssize_t n = writev(fds[0], v, 2);
    n += sendmsg(fds[0], &m, 0);
    n += send(fds[0], b, 10, 0);
    free(a);
    free(b);
    return n != 50;
}
