/* Socket calls: bind, connect and sendto with undefined parts. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void) {
    struct sockaddr_in *a = malloc(sizeof *a);
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    a->sin_family = AF_INET;
    a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a->sin_port &= 0; /* undefined bits, made zero: defined */
    if (bind(s, (struct sockaddr *)a, sizeof *a)) /* sin_zero is not looked at */
        return 1;
    socklen_t n = sizeof *a;
    if (getsockname(s, (struct sockaddr *)a, &n) || a->sin_port == 0)
        return 2;
    char *text = malloc(10);
    text[0] = 1;
    ssize_t sent = sendto(s, text, 10, 0, (struct sockaddr *)a, sizeof *a);
    char got[10];
    if (recvfrom(s, got, 10, 0, NULL, NULL) != 10 || got[0] != 1)
        return 3;
    close(s);
    free(text);
    free(a);
    return sent != 10;
}
