/* Attributes of files by io_uring: name, path and value to be set are tested, a value that was asked for is defined,
 * and so are the descriptors of a pipe and the events that epoll has. A timeout that is changed is tested.
 * @expect: Syscall param io_uring_enter(sqe.addr2) points to uninitialised byte(s)
 * @expect: Syscall param io_uring_enter(sqe.addr) points to uninitialised byte(s)
 * @expect: Syscall param io_uring_enter(sqe.addr3) points to uninitialised byte(s)
 * @expect: Syscall param io_uring_enter(sqe.addr2) points to unaddressable byte(s)
 * @expect: Syscall param io_uring_enter(sqe.addr2) points to uninitialised byte(s)
 * @expect: Conditional jump or move depends on uninitialised value(s)
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "uring.h"

#define EPOLL_WAIT 59
#define PIPE       62

static int ask(int op, int fd, const void *name, void *value, unsigned len, const char *path) {
    unsigned flags;
    return submit((struct io_uring_sqe){.opcode = op,
                                        .fd = fd,
                                        .addr = (unsigned long)name,
                                        .addr2 = (unsigned long)value,
                                        .len = len,
                                        .addr3 = (unsigned long)path},
                  &flags);
}

int main(void) {
    if (!make_ring(4)) return 77;
    char path[] = "io_uring_attributes.XXXXXX", *value = malloc(8), *raw = malloc(16), *got = malloc(16);
    int file = mkstemp(path), seen = 0;
    memcpy(value, "ananas", 6);
    ask(IORING_OP_FSETXATTR, file, "user.a", value, 6, NULL);
    ask(IORING_OP_FSETXATTR, file, "user.b", value, 8, NULL); /* addr2: two bytes are undefined */
    if (ask(IORING_OP_FGETXATTR, file, "user.a", got, 6, NULL) == 6) seen += memcmp(got, "ananas", 6) == 0;
    char *again = malloc(16);
    if (ask(IORING_OP_GETXATTR, 0, "user.a", again, 6, path) == 6) seen += memcmp(again, "ananas", 6) == 0;
    ask(IORING_OP_FGETXATTR, file, raw, got, 6, NULL);       /* addr */
    ask(IORING_OP_GETXATTR, 0, "user.a", got, 6, raw);       /* addr3 */
    ask(IORING_OP_FGETXATTR, file, "user.a", got, 17, NULL); /* addr2: a byte too many */
    unsigned flags;
    submit((struct io_uring_sqe){.opcode = IORING_OP_TIMEOUT_REMOVE,
                                 .addr = 1,
                                 .addr2 = (unsigned long)malloc(16), /* addr2 */
                                 .timeout_flags = IORING_TIMEOUT_UPDATE},
           &flags);
    int *pair = malloc(8); /* since Linux 6.16; EPOLL_WAIT since 6.15 */
    if (ask(PIPE, 0, pair, NULL, 0, NULL) == 0) {
        struct epoll_event *event = malloc(sizeof *event), wanted = {.events = EPOLLIN, .data.u64 = 7};
        int set = epoll_create1(0);
        seen += pair[1] > pair[0] ? 0 : 100;
        epoll_ctl(set, EPOLL_CTL_ADD, pair[0], &wanted);
        if (write(pair[1], "x", 1) == 1 && ask(EPOLL_WAIT, set, event, NULL, 1, NULL) == 1)
            seen += event->data.u64 == 7 ? 0 : 100;
    }
    unlink(path);
    printf("%s\n", seen >= 100 ? "wrong" : "right");
    if (raw[3]) write(1, "", 0);
    return 0;
}
