/* io_uring: the kernel writes into buffers long after the call that handed them
 * over.  They become defined when they are handed over: before the request has
 * ended, the program has no business in them.
 *
 * Requests that the kernel fetches by itself (IORING_SETUP_SQPOLL) and buffers that
 * it picks from a ring of them are not seen.  io_uring(7), io_uring_enter(2).
 */
#include <asm/unistd.h>
#include <linux/io_uring.h>
#include <linux/mman.h>
#include <linux/uio.h>

#include "tools/memcheck/client/io_uring.h"

#define RINGS         64
#define MAX_IOVECS    1024u
#define STATX_BYTES   256
#define SIGINFO_BYTES 128
#define NO_SQARRAY    (1u << 16) /* IORING_SETUP_NO_SQARRAY */
#define OP_WAITID     50

static struct ring {
    int fd; /* 0: free; the program's first ring has another one */
    struct io_uring_params p;
    u64 sq, sqes; /* where they are mapped, or 0 */
} rings[RINGS];
static u32 oldest;
rt_lock_t sh_uring_lock;

typedef void defined_fn(struct tstate *, u64, u64);

static struct ring *find(int fd) {
    for (u32 i = 0; i < RINGS; i++)
        if (rings[i].fd == fd && fd != 0) return &rings[i];
    return NULL;
}

static void made(int fd, u64 params) {
    struct io_uring_params p;
    if (fd <= 0 || rt_copy_from(&p, params, sizeof p) != 0) return;
    rt_lock(&sh_uring_lock);
    struct ring *r = find(fd);
    for (u32 i = 0; i < RINGS && r == NULL; i++)
        if (rings[i].fd == 0) r = &rings[i];
    if (r == NULL) r = &rings[oldest++ % RINGS];
    *r = (struct ring){.fd = fd, .p = p};
    rt_unlock(&sh_uring_lock);
}

static void mapped(int fd, u64 offset, u64 at) {
    rt_lock(&sh_uring_lock);
    struct ring *r = find(fd);
    if (r != NULL && offset == IORING_OFF_SQ_RING) r->sq = at;
    if (r != NULL && offset == IORING_OFF_SQES) r->sqes = at;
    rt_unlock(&sh_uring_lock);
}

void uring_after(long nr, const u64 args[6], long result) {
    if (nr == __NR_io_uring_setup)
        made((int)result, args[1]);
    else if (nr == __NR_mmap && !(args[3] & MAP_ANONYMOUS))
        mapped((int)args[4], args[5], (u64)result);
}

static void vectors(struct tstate *ts, u64 at, u64 n, defined_fn *defined) {
    struct iovec v;
    for (u64 i = 0; i < n && i < MAX_IOVECS && rt_copy_from(&v, at + i * sizeof v, sizeof v) == 0; i++)
        defined(ts, (u64)v.iov_base, v.iov_len);
}

static void message(struct tstate *ts, u64 at, defined_fn *defined) {
    u64 m[7]; /* struct msghdr: name, namelen, iov, iovlen, control, controllen, flags */
    if (rt_copy_from(m, at, sizeof m) != 0) return;
    defined(ts, m[0], (u32)m[1]);
    defined(ts, at + 8, 4);
    vectors(ts, m[2], m[3], defined);
    defined(ts, m[4], m[5]);
    defined(ts, at + 40, 12);
}

static void request(struct tstate *ts, const struct io_uring_sqe *e, defined_fn *defined) {
    switch (e->opcode) {
    case IORING_OP_READV: vectors(ts, e->addr, e->len, defined); break;
    case IORING_OP_READ:
    case IORING_OP_READ_FIXED:
    case IORING_OP_RECV:
        if (!(e->flags & IOSQE_BUFFER_SELECT)) defined(ts, e->addr, e->len);
        break;
    case IORING_OP_RECVMSG: message(ts, e->addr, defined); break;
    case IORING_OP_STATX: defined(ts, e->off, STATX_BYTES); break;
    case OP_WAITID: defined(ts, e->off, SIGINFO_BYTES); break;
    case IORING_OP_PROVIDE_BUFFERS: defined(ts, e->addr, (u64)e->len * (u32)e->fd); break;
    case IORING_OP_ACCEPT: {
        u32 len;
        if (e->addr && e->off && rt_copy_from(&len, e->off, sizeof len) == 0) defined(ts, e->addr, len);
        break;
    }
    default: break;
    }
}

void uring_before(long nr, const u64 args[6], defined_fn *defined, struct tstate *ts) {
    struct ring *known, r;
    if (nr != __NR_io_uring_enter) return;
    rt_lock(&sh_uring_lock);
    known = find((int)args[0]);
    /* The descriptor may be the number of a registered one: with a single ring it is clear which. */
    if (known == NULL && (args[3] & 16 /* IORING_ENTER_REGISTERED_RING */) && rings[1].fd == 0) known = &rings[0];
    r = known ? *known : (struct ring){0};
    rt_unlock(&sh_uring_lock);
    u32 head, mask, size = r.p.flags & IORING_SETUP_SQE128 ? 128 : 64;
    if (!r.sq || !r.sqes || rt_copy_from(&head, r.sq + r.p.sq_off.head, 4) != 0 ||
        rt_copy_from(&mask, r.sq + r.p.sq_off.ring_mask, 4) != 0)
        return;
    for (u32 i = 0; i < (u32)args[1] && i <= mask; i++) {
        u32 slot = (head + i) & mask;
        struct io_uring_sqe e;
        if (!(r.p.flags & NO_SQARRAY) && rt_copy_from(&slot, r.sq + r.p.sq_off.array + 4 * slot, 4) != 0) return;
        if (rt_copy_from(&e, r.sqes + (u64)(slot & mask) * size, sizeof e) != 0) return;
        request(ts, &e, defined);
    }
}
