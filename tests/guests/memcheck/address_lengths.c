/* The length beside a socket's address is looked at for an address alone; keys are asked for without a buffer.
 * @options: -q */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "valgrind/memcheck.h"

static struct sockaddr_storage storage;
static struct sockaddr *const address = (struct sockaddr *)&storage;

int main(void) {
    socklen_t *length = malloc(sizeof *length);
    char buffer[8] = "abc";
    accept(-1, NULL, length);
    accept(-1, NULL, length + 1);
    accept4(-1, NULL, length, 0);
    recvfrom(-1, buffer, 4, 0, NULL, length);
    accept(-1, address, length);       /* undefined */
    accept(-1, address, NULL);         /* unaddressable */
    accept4(-1, address, NULL, 0);     /* the same */
    recvfrom(-1, buffer, 4, 0, address, NULL);
    getsockname(-1, address, NULL);
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) return 1;
    write(pair[0], "xyz", 3);
    if (recvfrom(pair[1], buffer, 4, 0, NULL, length) != 3) return 1;
    if (VALGRIND_CHECK_MEM_IS_DEFINED(length, sizeof *length) == 0) return 1; /* nobody has written it */
    syscall(SYS_keyctl, 11, -1, 0, 8); /* KEYCTL_READ */
    syscall(SYS_keyctl, 6, -1, 0, 8);  /* KEYCTL_DESCRIBE */
    return 0;
}
