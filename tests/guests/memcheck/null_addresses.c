/* accept and recvfrom may be told to keep an address to themselves, getsockname and getpeername not. */
#include <sys/socket.h>
#include <unistd.h>

int main(void) {
    int pair[2];
    char byte;
    socklen_t room = 16;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return 1;
    if (write(pair[0], "x", 1) != 1 || recvfrom(pair[1], &byte, 1, 0, NULL, NULL) != 1) return 2;
    accept(pair[0], NULL, NULL);
    accept(pair[0], NULL, &room);
    if (getsockname(pair[0], NULL, &room) == 0) return 3;
    if (getpeername(pair[0], NULL, &room) == 0) return 4;
    room = 0;
    return getsockname(pair[0], NULL, &room);
}
