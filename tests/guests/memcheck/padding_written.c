/* Padding of structures goes to write, send and a pipe: uninitialised bytes; and comes back as defined. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct padded {
    char a;
    int b;
    short c;
};

int main(void) {
    struct padded s, r;
    int fds[2], pair[2];
    memset(&r, 0, sizeof r);
    s.a = 1, s.b = 2, s.c = 3;
    pipe(fds);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    write(fds[1], &s, sizeof s);
    read(fds[0], &r, sizeof r);
    if (((char *)&r)[2]) /* what a pipe gives is defined */
        r.a++;
    write(fds[1], &r, sizeof r);
    send(pair[0], &s.a, 5, 0);
    return 0;
}
