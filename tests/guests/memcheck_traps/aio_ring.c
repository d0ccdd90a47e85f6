/* The ring of an io_setup context, which the kernel maps: it is read (as libaio does), moved, and gone after
 * io_destroy; what is read there then is not memory.
 * @expect: Syscall param write(buf) points to unaddressable byte(s) at call */
#define _GNU_SOURCE
#include <linux/aio_abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ring {
    unsigned id, nr, head, tail, magic, features[2], header;
    struct io_event events[];
};

__attribute__((noinline)) static long call(long nr, long a, long b, long c) {
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "0"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}

static void work(aio_context_t ctx, int fd) {
    static char text[] = "hello";
    struct iocb cb = {.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = fd}, *list[] = {&cb};
    volatile struct ring *ring = (struct ring *)ctx;
    cb.aio_buf = (unsigned long)text;
    cb.aio_nbytes = sizeof text;
    printf("%ld ", syscall(SYS_io_submit, ctx, 1, list));
    while (ring->head == ring->tail)
        ;
    printf("%lld %x\n", (long long)ring->events[ring->head].res, ring->magic);
    ring->head = (ring->head + 1) % ring->nr;
}

int main(void) {
    char path[] = "/tmp/aio-ring-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    aio_context_t ctx = 0;
    if (syscall(SYS_io_setup, 4, &ctx) != 0) return 77;
    work(ctx, fd);
    size_t bytes = (sizeof(struct ring) + ((struct ring *)ctx)->nr * sizeof(struct io_event) + 4095) & -4096;
    void *place = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("%d\n", mremap((void *)ctx, bytes, bytes, MREMAP_FIXED | MREMAP_MAYMOVE, place) == place);
    ctx = (aio_context_t)place;
    work(ctx, fd);
    printf("%ld\n", syscall(SYS_io_destroy, ctx));
    printf("%ld\n", call(SYS_write, fd, (long)ctx, 8));
    printf("%ld\n", syscall(SYS_io_setup, 4, &ctx)); /* the old name is none for a new one */
    return 0;
}
