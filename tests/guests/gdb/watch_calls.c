#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
char buffer[64], other[64], *name = 0;
struct stat status;
int main(void) {
    int ends[2], pair[2];
    pipe(ends);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    write(ends[1], "abcdef", 6);
    read(ends[0], other, 2);      /* elsewhere */
    read(ends[0], buffer + 8, 4); /* first */
    write(ends[1], buffer, 16);   /* second */
    struct iovec parts[2] = {{other, 4}, {buffer, 12}};
    readv(ends[0], parts, 2); /* third */
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    sendmsg(pair[0], &message, 0); /* fourth */
    recvmsg(pair[1], &message, 0); /* fifth */
    fstat(ends[0], &status);       /* sixth */
    return 5;
}
