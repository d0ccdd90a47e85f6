/* io_uring: the kernel writes into buffers long after the call that handed them
 * over.  They are tested as the arguments of a call are, and become defined, when
 * they are handed over: before the request has ended, the program has no business
 * in them.
 *
 * Requests that the kernel fetches by itself (IORING_SETUP_SQPOLL), and buffers that
 * are put into a ring from which it picks, are looked at when the program next calls
 * io_uring_enter.  io_uring(7), io_uring_enter(2).
 */
#include <asm/unistd.h>
#include <linux/io_uring.h>
#include <linux/mman.h>
#include <linux/uio.h>

#include "tools/memcheck/client/io_uring.h"
#include "tools/memcheck/client/syscall_check.h"

#define RINGS           64
#define MAX_IOVECS      1024u
#define STATX_BYTES     256
#define SIGINFO_BYTES   128
#define TIMESPEC        16
#define EVENT_BYTES     4          /* of struct epoll_event; either half of the data may be unused */
#define EVENT_SIZE      12         /* all of it */
#define NO_SQARRAY      (1u << 16) /* IORING_SETUP_NO_SQARRAY */
#define OP_WAITID       50         /* these are not in the headers of Linux 6.1 */
#define OP_BIND         56
#define OP_EPOLL_WAIT   59
#define OP_READV_FIXED  60
#define OP_WRITEV_FIXED 61
#define OP_PIPE         62
#define TIMEOUT_UPDATES (IORING_TIMEOUT_UPDATE | IORING_LINK_TIMEOUT_UPDATE)
#define OFF_BUFFERS     0x80000000ull /* IORING_OFF_PBUF_RING */
#define REGISTERED_RING (1u << 31)    /* IORING_REGISTER_USE_REGISTERED_RING */

static struct ring {
    int fd; /* 0: free; the program's first ring has another one */
    struct io_uring_params p;
    u64 sq, sqes; /* where they are mapped, or 0 */
    u32 seen;     /* end of the requests that were looked at, of those that the kernel fetches by itself */
} rings[RINGS];
static u32 oldest;
rt_lock_t sh_uring_lock;

/* Rings of buffers from which the kernel picks. */
static struct pool {
    int fd; /* of the ring that they belong to; 0: free */
    u16 group, seen;
    u32 entries;
    u64 at;
} pools[RINGS];

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
    for (u32 i = 0; i < RINGS; i++)
        if (pools[i].fd == fd) pools[i].fd = 0; /* those of a ring that had the number before */
    rt_unlock(&sh_uring_lock);
}

static struct pool *pool_of(int fd, u16 group) {
    for (u32 i = 0; i < RINGS; i++)
        if (pools[i].fd == fd && pools[i].group == group) return &pools[i];
    return NULL;
}

static void mapped(int fd, u64 offset, u64 at) {
    rt_lock(&sh_uring_lock);
    struct ring *r = find(fd);
    if (r != NULL && offset == IORING_OFF_SQ_RING) r->sq = at;
    if (r != NULL && offset == IORING_OFF_SQES) r->sqes = at;
    struct pool *pool = r != NULL && (offset & IORING_OFF_MMAP_MASK) == OFF_BUFFERS ? pool_of(fd, (u16)(offset >> 16))
                                                                                    : NULL;
    if (pool) pool->at = at;
    rt_unlock(&sh_uring_lock);
}

/* The ring's descriptor, or 0: where the number is that of a registered one it is clear with a single ring only. */
static int descriptor(u64 fd, bool registered) {
    if (registered) return rings[1].fd ? 0 : rings[0].fd;
    return (int)fd;
}

static void registered(const u64 args[6]) {
    struct io_uring_buf_reg buffers;
    u32 what = (u32)args[1] & ~REGISTERED_RING;
    if (what != IORING_REGISTER_PBUF_RING && what != IORING_UNREGISTER_PBUF_RING) return;
    if (rt_copy_from(&buffers, args[2], sizeof buffers) != 0) return;
    rt_lock(&sh_uring_lock);
    int fd = descriptor(args[0], args[1] & REGISTERED_RING);
    struct pool *pool = find(fd) ? pool_of(fd, buffers.bgid) : NULL;
    if (what == IORING_UNREGISTER_PBUF_RING) {
        if (pool) pool->fd = 0;
    } else if (find(fd)) {
        for (u32 i = 0; i < RINGS && pool == NULL; i++)
            if (pools[i].fd == 0) pool = &pools[i];
        /* Without an address the kernel has the memory, which is mapped later. */
        if (pool) *pool = (struct pool){fd, buffers.bgid, 0, buffers.ring_entries, buffers.ring_addr};
    }
    rt_unlock(&sh_uring_lock);
}

void uring_after(long nr, const u64 args[6], long result) {
    if (nr == __NR_io_uring_setup)
        made((int)result, args[1]);
    else if (nr == __NR_mmap && !(args[3] & MAP_ANONYMOUS))
        mapped((int)args[4], args[5], (u64)result);
    else if (nr == __NR_io_uring_register)
        registered(args);
}

static void vectors(struct tstate *ts, u64 at, u64 n) {
    struct iovec v;
    for (u64 i = 0; i < n && i < MAX_IOVECS && rt_copy_from(&v, at + i * sizeof v, sizeof v) == 0; i++)
        call_defines(ts, (u64)v.iov_base, v.iov_len);
}

static void message(struct tstate *ts, u64 at) {
    u64 m[7]; /* struct msghdr: name, namelen, iov, iovlen, control, controllen, flags */
    if (rt_copy_from(m, at, sizeof m) != 0) return;
    call_defines(ts, m[0], (u32)m[1]);
    call_defines(ts, at + 8, 4);
    vectors(ts, m[2], m[3]);
    call_defines(ts, m[4], m[5]);
    call_defines(ts, at + 40, 12);
}

static void written(struct call *c, u64 at, u64 n, const char *name) {
    call_writes(c, at, n, name, "");
    call_defines(c->ts, at, n);
}

static const char addr[] = "sqe.addr", other[] = "sqe.addr2", third[] = "sqe.addr3";

/* An attribute's name and value; those of a path have that in the third word. */
static void attribute(struct call *c, const struct io_uring_sqe *e, bool set) {
    if (e->opcode == IORING_OP_GETXATTR || e->opcode == IORING_OP_SETXATTR) call_reads_string(c, e->addr3, third, "");
    call_reads_string(c, e->addr, addr, "");
    if (set)
        call_reads(c, e->off, e->len, other, "");
    else
        written(c, e->off, e->len, other);
}

static void request(struct call *c, const struct io_uring_sqe *e) {
    bool picked = e->flags & IOSQE_BUFFER_SELECT; /* the kernel has the buffer */
    u32 n;
    switch (e->opcode) {
    case IORING_OP_READV:
    case OP_READV_FIXED:
        if (picked) break;
        call_iovecs(c, e->addr, e->len, false, addr, addr, true);
        vectors(c->ts, e->addr, e->len);
        break;
    case IORING_OP_READ:
    case IORING_OP_READ_FIXED:
    case IORING_OP_RECV:
        if (!picked) written(c, e->addr, e->len, addr);
        break;
    case IORING_OP_WRITEV:
    case OP_WRITEV_FIXED: call_iovecs(c, e->addr, e->len, true, addr, addr, true); break;
    case IORING_OP_SEND:
    case IORING_OP_SEND_ZC:
        call_socket_address(c, e->off, e->addr_len, other); /* of sendto */
        __attribute__((fallthrough));
    case IORING_OP_WRITE:
    case IORING_OP_WRITE_FIXED:
        if (!picked) call_reads(c, e->addr, e->len, addr, "");
        break;
    case IORING_OP_SENDMSG:
    case IORING_OP_SENDMSG_ZC:
        if (!picked) call_message(c, e->addr, true, addr);
        break;
    case IORING_OP_RECVMSG:
        if (!picked) call_message(c, e->addr, false, addr);
        message(c->ts, e->addr);
        break;
    case IORING_OP_OPENAT2:
        call_reads(c, e->off, e->len, other, "");
        call_reads_string(c, e->addr, addr, "");
        break;
    case IORING_OP_OPENAT:
    case IORING_OP_UNLINKAT:
    case IORING_OP_MKDIRAT: call_reads_string(c, e->addr, addr, ""); break;
    case IORING_OP_RENAMEAT:
    case IORING_OP_SYMLINKAT:
    case IORING_OP_LINKAT:
        call_reads_string(c, e->addr, addr, "");
        call_reads_string(c, e->off, other, "");
        break;
    case IORING_OP_STATX:
        if (e->addr) call_reads_string(c, e->addr, addr, "");
        written(c, e->off, STATX_BYTES, other);
        break;
    case IORING_OP_FSETXATTR:
    case IORING_OP_SETXATTR: attribute(c, e, true); break;
    case IORING_OP_FGETXATTR:
    case IORING_OP_GETXATTR: attribute(c, e, false); break;
    case OP_BIND:
    case IORING_OP_CONNECT: call_socket_address(c, e->addr, e->off, addr); break;
    case IORING_OP_TIMEOUT:
    case IORING_OP_LINK_TIMEOUT: call_reads(c, e->addr, TIMESPEC, addr, ""); break;
    case IORING_OP_TIMEOUT_REMOVE:
        if (e->timeout_flags & TIMEOUT_UPDATES) call_reads(c, e->off, TIMESPEC, other, "");
        break;
    case IORING_OP_EPOLL_CTL:
        if (e->addr) call_reads(c, e->addr, EVENT_BYTES, addr, "");
        break;
    case IORING_OP_FILES_UPDATE: call_reads(c, e->addr, e->len * 4ull, addr, ""); break;
    case OP_EPOLL_WAIT: written(c, e->addr, (u64)e->len * EVENT_SIZE, addr); break;
    case OP_PIPE: written(c, e->addr, 2 * sizeof n, addr); break;
    case OP_WAITID:
        if (e->off) written(c, e->off, SIGINFO_BYTES, other);
        break;
    case IORING_OP_PROVIDE_BUFFERS: written(c, e->addr, (u64)e->len * (u32)e->fd, addr); break;
    case IORING_OP_ACCEPT:
        if (!e->addr || !e->off) break;
        call_reads(c, e->off, sizeof n, other, "");
        if (rt_copy_from(&n, e->off, sizeof n) == 0) written(c, e->addr, n, addr);
        break;
    default: break;
    }
}

/* Buffers that were put into a ring since the last look. */
static void filled(struct call *c, struct pool *shared) {
    struct io_uring_buf buffer;
    u16 tail;
    rt_lock(&sh_uring_lock);
    struct pool pool = *shared;
    /* The tail lies where the first entry has nothing. */
    bool is_there = pool.at && pool.entries && rt_copy_from(&tail, pool.at + 14, sizeof tail) == 0;
    if (is_there) shared->seen = tail;
    rt_unlock(&sh_uring_lock);
    if (!is_there) return;
    u32 n = (u16)(tail - pool.seen);
    for (n = n < pool.entries ? n : pool.entries; n > 0; n--) {
        u64 at = pool.at + ((u16)(tail - n) & (pool.entries - 1)) * sizeof buffer;
        if (rt_copy_from(&buffer, at, sizeof buffer) != 0) return;
        written(c, buffer.addr, buffer.len, "bufs.addr");
    }
}

/* The requests that are new: so many from the head, or, if the kernel fetches them, those before the tail. */
static u32 requests(struct ring *r, u32 submitted, u32 *first, u32 mask) {
    u32 tail;
    if (!(r->p.flags & IORING_SETUP_SQPOLL)) return submitted <= mask ? submitted : mask + 1;
    if (rt_copy_from(&tail, r->sq + r->p.sq_off.tail, sizeof tail) != 0) return 0;
    *first = tail - r->seen <= mask ? r->seen : tail - mask - 1;
    r->seen = tail;
    return tail - *first;
}

void uring_before(struct call *c) {
    if (c->nr != __NR_io_uring_enter) return;
    u32 head, mask = 0, count = 0;
    rt_lock(&sh_uring_lock);
    int fd = descriptor(c->args[0], c->args[3] & 16 /* IORING_ENTER_REGISTERED_RING */);
    struct ring *known = find(fd), r = {0};
    if (known && known->sq && known->sqes && rt_copy_from(&head, known->sq + known->p.sq_off.head, 4) == 0 &&
        rt_copy_from(&mask, known->sq + known->p.sq_off.ring_mask, 4) == 0) {
        count = requests(known, (u32)c->args[1], &head, mask);
        r = *known;
    }
    rt_unlock(&sh_uring_lock);
    for (u32 i = 0; i < RINGS; i++)
        if (known && pools[i].fd == fd) filled(c, &pools[i]);
    u32 size = r.p.flags & IORING_SETUP_SQE128 ? 128 : 64;
    for (u32 i = 0; i < count; i++) {
        u32 slot = (head + i) & mask;
        struct io_uring_sqe e;
        if (!(r.p.flags & NO_SQARRAY) && rt_copy_from(&slot, r.sq + r.p.sq_off.array + 4 * slot, 4) != 0) return;
        if (rt_copy_from(&e, r.sqes + (u64)(slot & mask) * size, sizeof e) != 0) return;
        request(c, &e);
    }
}
