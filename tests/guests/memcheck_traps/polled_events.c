/* The events of an entry whose descriptor is below 0 are not looked at; the entry itself is copied. */
/* @expect: Syscall param poll(ufds.events) points to uninitialised byte(s)
 * @expect: Syscall param ppoll(ufds.events) points to unaddressable byte(s)
 * @expect: Syscall param ppoll(ufds.revents) points to unaddressable byte(s) */
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>

int main(void) {
    struct timespec none = {0};
    struct pollfd *all = malloc(2 * sizeof *all), *part = malloc(sizeof part->fd);
    all[0].fd = -1;
    all[1].fd = 1;
    all[1].events = POLLIN;
    poll(all, 2, 0);
    all[0].fd = 1;
    poll(all, 1, 0);
    part->fd = -2;
    ppoll(part, 1, &none, NULL);
    free(all);
    free(part);
    return 0;
}
