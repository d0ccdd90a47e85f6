/* Of more than UIO_MAXIOV buffers (-1, too) the kernel looks at none: EINVAL, or EMSGSIZE of a message. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static int refused(ssize_t result, int error) { return result == -1 && errno == error; }

int main(void) {
    char byte[1];
    struct iovec one = {byte, 1}, *buffers = &one;
    struct msghdr message = {.msg_iov = buffers, .msg_iovlen = 1025};
    int zeros = open("/dev/zero", O_RDWR), ends[2], pair[2];
    if (pipe(ends) || socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)) return 1;
    for (int n = -1; n <= 1025; n += 1026) {
        if (!refused(readv(zeros, buffers, n), EINVAL) || !refused(writev(zeros, buffers, n), EINVAL)) return 2;
        if (!refused(preadv(zeros, buffers, n, 0), EINVAL) || !refused(pwritev(zeros, buffers, n, 0), EINVAL)) return 3;
        if (!refused(vmsplice(ends[1], buffers, n, 0), EINVAL)) return 4;
    }
    if (!refused(sendmsg(pair[0], &message, 0), EMSGSIZE)) return 5;
    return refused(recvmsg(pair[0], &message, MSG_DONTWAIT), EMSGSIZE) ? 0 : 6;
}
