/* The kernel takes ints from the lower half of their registers: what stands above, as syscall(2) may leave it, is no part
 * of a length, an operation or a flag. Valgrind takes all of it, and looks at so much memory that it never ends. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ABOVE 0xfacefeed00000000ul

struct waiter {
    unsigned long value, address;
    unsigned flags, reserved;
};

static int used; /* keeps the comparisons */

/* What the kernel has written is defined. */
static void use(const void *block, unsigned long bytes) {
    for (unsigned long i = 0; i < bytes; i++)
        if (((const char *)block)[i] == 77) used++;
}

int main(void) {
    int *word = calloc(1, 4), pair[2];
    struct waiter *waiter = calloc(1, sizeof *waiter);
    struct epoll_event *event = calloc(1, sizeof *event), *waited = malloc(sizeof *waited);
    struct sockaddr_in *address = calloc(1, sizeof *address);
    struct sembuf *step = calloc(1, sizeof *step);
    char *path = calloc(1, 64), *entries = malloc(512);
    cpu_set_t *cpus = malloc(sizeof *cpus);

    *word = 1;
    *waiter = (struct waiter){.address = (unsigned long)word, .flags = 2};
    syscall(SYS_futex_waitv, waiter, ABOVE | 1, ABOVE, NULL, ABOVE);
    syscall(SYS_futex, word, ABOVE | 1 /* FUTEX_WAKE */, ABOVE | 1, event, event, 0ul);

    struct pollfd *polled = malloc(sizeof *polled);
    polled->fd = 1;
    polled->events = POLLERR;
    syscall(SYS_poll, polled, ABOVE | 1, ABOVE);
    use(&polled->revents, 2);

    int queue = (int)syscall(SYS_epoll_create1, ABOVE);
    pipe(pair);
    event->events = EPOLLOUT;
    syscall(SYS_epoll_ctl, ABOVE | queue, ABOVE | EPOLL_CTL_ADD, ABOVE | pair[1], event);
    if (syscall(SYS_epoll_wait, ABOVE | queue, waited, ABOVE | 1, ABOVE) == 1) use(waited, sizeof *waited);
    syscall(SYS_epoll_ctl, ABOVE | queue, ABOVE | EPOLL_CTL_DEL, ABOVE | pair[1], NULL);

    int stream = (int)syscall(SYS_socket, ABOVE | AF_INET, ABOVE | SOCK_STREAM, ABOVE);
    address->sin_family = AF_INET;
    syscall(SYS_bind, ABOVE | stream, address, ABOVE | sizeof *address);
    syscall(SYS_sendto, ABOVE | stream, path, 1, ABOVE | MSG_NOSIGNAL, address, ABOVE | sizeof *address);
    *word = 1;
    syscall(SYS_setsockopt, ABOVE | stream, ABOVE | SOL_SOCKET, ABOVE | SO_REUSEADDR, word, ABOVE | sizeof *word);

    int folder = (int)syscall(SYS_open, "/", ABOVE | 0200000 /* O_DIRECTORY */, ABOVE);
    long got = syscall(SYS_getdents64, ABOVE | folder, entries, ABOVE | 512);
    if (got > 0) use(entries, (unsigned long)got);
    got = syscall(SYS_readlink, "/proc/self/exe", path, ABOVE | 64);
    if (got > 0) use(path, (unsigned long)got);
    got = syscall(SYS_sched_getaffinity, ABOVE, ABOVE | sizeof *cpus, cpus);
    if (got > 0) use(cpus, (unsigned long)got);
    syscall(SYS_getgroups, ABOVE, NULL);

    int sems = (int)syscall(SYS_semget, ABOVE, ABOVE >> 32, ABOVE | 0600); /* too many */
    syscall(SYS_semop, ABOVE | sems, step, ABOVE | 1);
    return used == -1;
}
