/* io_submit(2): what its requests read and write.
 *
 * What a read has brought is defined when io_getevents tells of it: only there is it known how much came, and the
 * event leads to its request. Who looks into the ring itself, as io_uring's users do, is not seen; for them the memory
 * would have to be taken for defined before anything has come.
 */
#include <linux/aio_abi.h>

#include "tools/memcheck/client/syscall_check.h"

#define MOST 1024

static void vectors(struct call *c, const struct iocb *r, bool in, const char *name, const char *each) {
    for (u64 i = 0; i < r->aio_nbytes && i < MOST; i++) {
        u64 v[2];
        call_reads(c, r->aio_buf + i * sizeof v, sizeof v, name, "");
        if (rt_copy_from(v, r->aio_buf + i * sizeof v, sizeof v) < 0) return;
        if (in)
            call_reads(c, v[0], v[1], each, "");
        else
            call_writes(c, v[0], v[1], each, "");
    }
}

static void request(struct call *c, const struct iocb *r) {
    switch (r->aio_lio_opcode) {
    case IOCB_CMD_PREAD: call_writes(c, r->aio_buf, r->aio_nbytes, "PREAD", ""); break;
    case IOCB_CMD_PWRITE: call_reads(c, r->aio_buf, r->aio_nbytes, "PWRITE", ""); break;
    case IOCB_CMD_PREADV: vectors(c, r, false, "PREADV", "io_submit(PREADV(iov[i]))"); break;
    case IOCB_CMD_PWRITEV: vectors(c, r, true, "PWRITEV", "io_submit(PWRITEV(iov[i]))"); break;
    default: break;
    }
}

void call_requests(struct call *c, u64 at, u64 n) {
    for (u64 i = 0; i < n && i < MOST; i++) {
        u64 where;
        struct iocb r;
        call_reads(c, at + 8 * i, 8, "iocbpp", "");
        if (rt_copy_from(&where, at + 8 * i, 8) < 0) return;
        call_reads(c, where, sizeof r, "iocb", "");
        if (rt_copy_from(&r, where, sizeof r) == 0) request(c, &r);
    }
}

void call_requests_done(struct tstate *ts, u64 at, u64 n) {
    for (u64 i = 0; i < n; i++) {
        struct io_event e;
        struct iocb r;
        if (rt_copy_from(&e, at + i * sizeof e, sizeof e) < 0) return;
        if (e.res <= 0 || rt_copy_from(&r, e.obj, sizeof r) < 0) continue;
        u64 came = (u64)e.res;
        if (r.aio_lio_opcode == IOCB_CMD_PREAD) call_defines(ts, r.aio_buf, came < r.aio_nbytes ? came : r.aio_nbytes);
        if (r.aio_lio_opcode == IOCB_CMD_PREADV) call_iovecs_defined(ts, r.aio_buf, r.aio_nbytes, came);
    }
}
