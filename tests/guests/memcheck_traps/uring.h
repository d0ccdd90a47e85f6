/* A small ring of io_uring, one request at a time: what liburing does, without it. */
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct io_uring_params p;
static char *sq, *cq;
static struct io_uring_sqe *sqes;
static int ring;

/* Whether this kernel lets us have one. */
static int make_ring(unsigned entries) {
    ring = syscall(SYS_io_uring_setup, entries, &p);
    if (ring < 0) return 0;
    sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED,
              ring, IORING_OFF_CQ_RING);
    sqes = mmap(NULL, p.sq_entries * sizeof *sqes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    return sq != MAP_FAILED && cq != MAP_FAILED && sqes != MAP_FAILED;
}

/* Hands a request over and waits for its end: the result; flags, those of the answer. */
static int submit(struct io_uring_sqe request, unsigned *flags) {
    unsigned *tail = (unsigned *)(sq + p.sq_off.tail), slot = *tail & *(unsigned *)(sq + p.sq_off.ring_mask);
    sqes[slot] = request;
    ((unsigned *)(sq + p.sq_off.array))[slot] = slot;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1) return -1;
    unsigned *head = (unsigned *)(cq + p.cq_off.head);
    struct io_uring_cqe *c =
        (struct io_uring_cqe *)(cq + p.cq_off.cqes) + (*head & *(unsigned *)(cq + p.cq_off.ring_mask));
    int result = c->res;
    *flags = c->flags;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return result;
}
