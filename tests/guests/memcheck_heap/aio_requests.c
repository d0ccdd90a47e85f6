/* Requests of io_submit, right ones ("right": prints which bytes are undefined afterwards) and wrong ones. */
#define _GNU_SOURCE
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "valgrind/memcheck.h"

static aio_context_t context;
static int file;

static long submit(int what, void *buffer, uint64_t n) {
    struct iocb r = {.aio_lio_opcode = what, .aio_fildes = file, .aio_buf = (uint64_t)buffer, .aio_nbytes = n};
    struct iocb *list[] = {&r};
    struct io_event event;
    if (syscall(SYS_io_submit, context, 1, list) != 1) return -1;
    syscall(SYS_io_getevents, context, 1, 1, &event, NULL);
    return event.res;
}

static int undefined(void *p, int n) {
    unsigned char bits[n];
    int count = 0;
    VALGRIND_GET_VBITS(p, bits, n);
    for (int i = 0; i < n; i++) count += bits[i] != 0;
    return count;
}

int main(int argc, char **argv) {
    char *a = malloc(100), *b = malloc(10), *c = malloc(50), *unset = malloc(8), *gone = malloc(8);
    struct iovec *v = malloc(2 * sizeof *v);
    file = memfd_create("x", 0);
    write(file, "hello world, more", 17);
    if (syscall(SYS_io_setup, 4, &context)) return 3;
    free(gone);
    if (!strcmp(argv[1], "right")) {
        long came = submit(IOCB_CMD_PREAD, a, 100);
        printf("%ld %d\n", came, undefined(a, 100));
        v[0] = (struct iovec){b, 10}, v[1] = (struct iovec){c, 50};
        came = submit(IOCB_CMD_PREADV, v, 2);
        printf("%ld %d %d\n", came, undefined(b, 10), undefined(c, 50));
        came = submit(IOCB_CMD_PWRITE, a, 17);
        printf("%ld\n", came);
    } else {
        submit(IOCB_CMD_PWRITE, unset, 8);
        submit(IOCB_CMD_PREAD, gone, 8);
        v[0] = (struct iovec){gone, 8}, v[1] = (struct iovec){a, 0};
        submit(IOCB_CMD_PREADV, v, 2);
        v[0] = (struct iovec){unset, 8};
        submit(IOCB_CMD_PWRITEV, v, 2);
        VALGRIND_MAKE_MEM_UNDEFINED(&v[1].iov_len, 8);
        submit(IOCB_CMD_PREADV, v, 2);
    }
    return 0;
}
