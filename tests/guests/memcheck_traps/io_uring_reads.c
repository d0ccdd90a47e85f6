/* What io_uring reads into the program's memory is defined; what a request leaves alone is not.
 * @expect: Conditional jump or move depends on uninitialised value(s) at main
 */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static struct io_uring_params p;
static char *sq, *cq;
static struct io_uring_sqe *sqes;
static int ring;

static int run(int op, int fd, void *buffer, unsigned len, unsigned long off) {
    unsigned *tail = (unsigned *)(sq + p.sq_off.tail), slot = *tail & *(unsigned *)(sq + p.sq_off.ring_mask);
    memset(&sqes[slot], 0, sizeof *sqes);
    sqes[slot].opcode = op;
    sqes[slot].fd = fd;
    sqes[slot].addr = (unsigned long)buffer;
    sqes[slot].len = len;
    sqes[slot].off = off;
    ((unsigned *)(sq + p.sq_off.array))[slot] = slot;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1) return -1;
    unsigned *head = (unsigned *)(cq + p.cq_off.head);
    struct io_uring_cqe *c =
        (struct io_uring_cqe *)(cq + p.cq_off.cqes) + (*head & *(unsigned *)(cq + p.cq_off.ring_mask));
    int r = c->res;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return r;
}

__attribute__((noinline)) static int look(const char *s, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        if (s[i] == 'a') sum++;
    return sum;
}

int main(void) {
    char *buffer = malloc(300), *other = malloc(64), *third = malloc(64);
    int pair[2];
    pipe(pair);
    ring = syscall(SYS_io_uring_setup, 4, &p);
    if (ring >= 0) {
        sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
        cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED,
                  ring, IORING_OFF_CQ_RING);
        sqes = mmap(NULL, p.sq_entries * sizeof *sqes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    }
    int usable = ring >= 0 && sq != MAP_FAILED && cq != MAP_FAILED && sqes != MAP_FAILED;
    write(pair[1], "banana, ananas", 14);
    int got = usable ? run(IORING_OP_READ, pair[0], buffer, 14, -1) : read(pair[0], buffer, 14);
    printf("%d %d\n", got, look(buffer, 14));
    struct iovec v[2] = {{other, 6}, {third, 8}};
    write(pair[1], "banana, ananas", 14);
    got = usable ? run(IORING_OP_READV, pair[0], v, 2, -1) : readv(pair[0], v, 2);
    printf("%d %d %d\n", got, look(other, 6), look(third, 8));
    struct statx *st = malloc(sizeof *st);
    got = usable ? run(IORING_OP_STATX, -100, "/", STATX_MODE, (unsigned long)st) : statx(-100, "/", 0, STATX_MODE, st);
    printf("%d %d\n", got, S_ISDIR(st->stx_mode));
    if (buffer[20] == 'a') write(1, "", 0);
    return 0;
}
