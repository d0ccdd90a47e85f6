/* What requests of io_uring read is tested, and what they will write; buffers in a ring from which the kernel picks are
 * defined once they are handed over.
 * @expect: Syscall param io_uring_enter(sqe.addr) points to uninitialised byte(s)
 * @expect: Syscall param io_uring_enter(sqe.addr[1]) points to unaddressable byte(s)
 * @expect: Syscall param io_uring_enter(sqe.addr) points to unaddressable byte(s)
 * @expect: Syscall param io_uring_enter(sqe.addr) points to uninitialised byte(s)
 * @expect: Syscall param io_uring_enter(bufs.addr) points to unaddressable byte(s)
 * @expect: Conditional jump or move depends on uninitialised value(s)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "uring.h"

#define ENTRIES 4

static unsigned flags;

static int run(int op, int fd, void *buffer, unsigned len) {
    return submit((struct io_uring_sqe){.opcode = op,
                                        .fd = fd,
                                        .off = -1,
                                        .addr = (unsigned long)buffer,
                                        .len = len,
                                        .flags = buffer ? 0 : IOSQE_BUFFER_SELECT,
                                        .buf_group = 7},
                  &flags);
}

static int count(const char *s, int n) {
    int found = 0;
    for (int i = 0; i < n; i++)
        if (s[i] == 'a') found++;
    return found;
}

int main(void) {
    int pair[2], null = open("/dev/null", O_WRONLY);
    if (!make_ring(ENTRIES) || pipe(pair) < 0) return 77; /* not on this machine */
    struct io_uring_buf *bufs = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct io_uring_buf_reg pool = {.ring_addr = (unsigned long)bufs, .ring_entries = ENTRIES, .bgid = 7};
    if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_PBUF_RING, &pool, 1) < 0) return 77;

    char *message = malloc(16), *freed = malloc(32), *path = malloc(4);
    run(IORING_OP_WRITE, null, message, 16); /* undefined */
    memset(message, 'a', 16);
    run(IORING_OP_WRITE, null, message, 16);
    struct iovec v[2] = {{message, 16}, {message + 8, 9}}; /* one byte too long */
    run(IORING_OP_WRITEV, null, v, 2);
    free(freed);
    write(pair[1], "ab", 2);
    run(IORING_OP_READ, pair[0], freed + 16, 2); /* given back */
    run(IORING_OP_OPENAT, AT_FDCWD, path, 0);

    char *chosen[ENTRIES];
    for (int i = 0; i < ENTRIES; i++) {
        chosen[i] = malloc(32);
        bufs[i].addr = (unsigned long)chosen[i];
        bufs[i].len = i < 3 ? 32 : 33; /* the last is told too long */
        bufs[i].bid = i;
    }
    __atomic_store_n(&bufs[0].resv, ENTRIES, __ATOMIC_RELEASE); /* the tail */
    write(pair[1], "banana, ananas", 14);
    int got = run(IORING_OP_READ, pair[0], NULL, 32);
    printf("%d %d\n", got, got > 0 ? count(chosen[flags >> IORING_CQE_BUFFER_SHIFT], got) : 0);
    char *other = malloc(1);
    if (*other) write(1, "", 0);
    return 0;
}
