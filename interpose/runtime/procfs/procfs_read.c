/* Reading from descriptors whose text is ours (procfs.h).
 *
 * The position is the kernel's, so that copies of a descriptor share it.  A text
 * is made when reading starts at its beginning and kept for the reads after:
 * mappings come and go meanwhile, and a line must not be torn.
 */
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/uio.h>

#include "runtime/syscalls/syscalls.h"
#include "runtime/procfs/procfs.h"
#include "runtime/signals/sig.h"
#include "runtime/syscalls/syscall.h"

#define MAX_MARKED 64
#define MAX_IOV    1024u

static struct marked {
    int fd;
    bool used;
    u64 dev, ino; /* a number that was closed and given out again is another file */
    struct proc_file file;
    struct proc_text text;
} marked[MAX_MARKED];
static u32 n_marked, oldest;
static rt_lock_t lock;

static void forget(struct marked *m) {
    proc_text_free(&m->text);
    m->used = false;
    __atomic_fetch_sub(&n_marked, 1, __ATOMIC_RELAXED);
}

static void mark(int fd, struct proc_file file, const struct stat *st) {
    struct marked *m = NULL;
    for (u32 i = 0; i < MAX_MARKED; i++)
        if (marked[i].used && marked[i].fd == fd) forget(&marked[i]);
    for (u32 i = 0; i < MAX_MARKED && m == NULL; i++)
        if (!marked[i].used) m = &marked[i];
    if (m == NULL) {
        m = &marked[oldest++ % MAX_MARKED];
        forget(m);
    }
    *m = (struct marked){.fd = fd, .used = true, .dev = st->st_dev, .ino = st->st_ino, .file = file};
    __atomic_fetch_add(&n_marked, 1, __ATOMIC_RELAXED);
}

/* Under the lock.  NULL: a file like any other. */
static struct marked *find(int fd) {
    struct stat st;
    for (u32 i = 0; i < MAX_MARKED; i++) {
        struct marked *m = &marked[i];
        if (!m->used || m->fd != fd) continue;
        if (sys2(__NR_fstat, fd, (long)&st) == 0 && st.st_dev == m->dev && st.st_ino == m->ino) return m;
        forget(m);
    }
    return NULL;
}

static bool any(void) { return __atomic_load_n(&n_marked, __ATOMIC_RELAXED) != 0; }

void proc_opened(int fd) {
    struct proc_file file = proc_identify(fd);
    struct stat st;
    if (!proc_is_text(file.leaf) || sys2(__NR_fstat, fd, (long)&st) != 0) return;
    rt_lock(&lock);
    mark(fd, file, &st);
    rt_unlock(&lock);
}

void rt_proc_copied(int from, int to) {
    struct stat st;
    if (!any()) return;
    rt_lock(&lock);
    struct marked *m = find(from);
    if (m != NULL && sys2(__NR_fstat, to, (long)&st) == 0) mark(to, m->file, &st);
    rt_unlock(&lock);
}

/* Another thread may have held it when this process was forked. */
void rt_proc_after_fork(void) { lock = (rt_lock_t){0}; }

/* ---- reading --------------------------------------------------------------------------------- */

/* Move the kernel's position by reading: setting it makes the kernel write its text
 * anew from the beginning, each time, which is quadratic for whoever reads on.
 * Under the lock. */
static void advance(int fd, i64 from, i64 to) {
    static u8 scratch[4 * RT_PAGE];
    while (from < to) {
        i64 most = to - from < (i64)sizeof scratch ? to - from : (i64)sizeof scratch;
        long n = sys3(__NR_read, fd, (long)scratch, most);
        if (n <= 0) break;
        from += n;
    }
    if (from < to) /* its own text is the shorter one */
        sys3(__NR_lseek, fd, to, 0 /* SEEK_SET */);
}

/* The text from a position into buffers; false: let the kernel answer. */
static bool serve(struct tstate *ts, int fd, i64 at, const struct iovec *iov, u32 count, long *result) {
    rt_lock(&lock);
    struct marked *m = find(fd);
    bool moves = at < 0;
    if (m != NULL && moves) at = sys3(__NR_lseek, fd, 0, 1 /* SEEK_CUR */);
    i64 began = at;
    if (m != NULL && (at == 0 || m->text.at == NULL)) {
        proc_text_free(&m->text);
        if (!proc_text(ts, m->file, fd, &m->text)) {
            forget(m);
            m = NULL;
        }
    }
    if (m == NULL || at < 0) {
        rt_unlock(&lock);
        return false;
    }
    long done = 0;
    for (u32 i = 0; i < count; i++) {
        u64 left = (u64)at < m->text.len ? m->text.len - (u64)at : 0;
        u64 n = iov[i].iov_len < left ? iov[i].iov_len : left;
        if (n == 0) continue;
        if (rt_copy_to((u64)iov[i].iov_base, m->text.at + at, n) != 0) {
            done = done ? done : -EFAULT;
            break;
        }
        done += (long)n, at += (i64)n;
    }
    if (moves && done > 0) advance(fd, began, at);
    rt_unlock(&lock);
    *result = done;
    return true;
}

static long pass(struct tstate *ts) {
    u64 args[6];
    rt_syscall_args(ts, args);
    return sig_wait_here(ts, (long)rt_th(ts)->syscall_nr, args);
}

static long read_one(struct tstate *ts, i64 at) {
    struct iovec v = {(void *)ts->gpr[IP_RSI], ts->gpr[IP_RDX]};
    long r;
    return any() && serve(ts, (int)ts->gpr[IP_RDI], at, &v, 1, &r) ? r : pass(ts);
}

long rt_sys_read(struct tstate *ts) { return read_one(ts, -1); }
long rt_sys_pread64(struct tstate *ts) {
    return (i64)ts->gpr[IP_R10] < 0 ? pass(ts) : read_one(ts, (i64)ts->gpr[IP_R10]);
}

static long read_vector(struct tstate *ts, i64 at) {
    struct iovec v[8];
    u64 count = ts->gpr[IP_RDX];
    long r;
    /* More buffers than these: the first ones are filled, a short read. */
    u32 n = count < 8 ? (u32)count : 8;
    if (!any() || count == 0 || count > MAX_IOV || rt_copy_from(v, ts->gpr[IP_RSI], n * sizeof *v) != 0)
        return pass(ts);
    return serve(ts, (int)ts->gpr[IP_RDI], at, v, n, &r) ? r : pass(ts);
}

long rt_sys_readv(struct tstate *ts) { return read_vector(ts, -1); }
long rt_sys_preadv(struct tstate *ts) {
    i64 at = (i64)ts->gpr[IP_R10];
    if (at < 0) /* preadv2: -1 is the file's position */
        return rt_th(ts)->syscall_nr == __NR_preadv2 && at == -1 ? read_vector(ts, -1) : pass(ts);
    return read_vector(ts, at);
}

/* The kernel would copy its own text: callers fall back to read. */
static long no_copy(struct tstate *ts, int from) {
    bool ours = false;
    if (any()) {
        rt_lock(&lock);
        ours = find(from) != NULL;
        rt_unlock(&lock);
    }
    return ours ? -EINVAL : pass(ts);
}

long rt_sys_sendfile(struct tstate *ts) { return no_copy(ts, (int)ts->gpr[IP_RSI]); }
long rt_sys_splice(struct tstate *ts) { return no_copy(ts, (int)ts->gpr[IP_RDI]); }

/* The kernel would answer from its own list of mappings. */
long rt_sys_ioctl(struct tstate *ts) {
    int fd = (int)ts->gpr[IP_RDI];
    bool maps = false;
    if ((u32)ts->gpr[IP_RSI] == USERFAULTFD_IOC_NEW_) rt_program_brings_pages = true;
    if (any() && (u32)ts->gpr[IP_RSI] == PROCMAP_QUERY_) {
        rt_lock(&lock);
        const struct marked *m = find(fd);
        maps = m != NULL && m->file.leaf == PROC_MAPS;
        rt_unlock(&lock);
    }
    return maps ? proc_maps_query(fd, ts->gpr[IP_RDX]) : pass(ts);
}
