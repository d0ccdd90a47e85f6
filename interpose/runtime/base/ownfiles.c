/* Files of ours.  The program's limit on file sizes is none of theirs, and the signal that comes beyond it would be
 * the program's (setrlimit(2)).
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/memfd.h>
#include <linux/uio.h>

#include "runtime/base/rt.h"

#define RLIMIT_FSIZE_ 1

struct limit {
    u64 soft, hard;
};

static long limit_sizes(const struct limit *new, struct limit *old) {
    return sys4(__NR_prlimit64, 0, RLIMIT_FSIZE_, (long)new, (long)old);
}

/* As large as may be, until put_back. */
static struct limit lifted(const struct limit *now) {
    struct limit most = {~0ull, ~0ull};
    if (limit_sizes(&most, NULL) >= 0) return most;
    most = (struct limit){now->hard, now->hard};
    return limit_sizes(&most, NULL) >= 0 ? most : *now;
}

static void put_back(const struct limit *before) { limit_sizes(before, NULL); }

long rt_memory_file(const char *name, u64 bytes) {
    struct limit before = {0, 0};
    long fd = sys2(__NR_memfd_create, (long)name, MFD_CLOEXEC), error = -EFBIG;
    if (fd < 0) return fd;
    limit_sizes(NULL, &before);
    if (before.soft >= bytes) {
        error = sys2(__NR_ftruncate, fd, (long)bytes);
    } else {
        if (lifted(&before).soft >= bytes) error = sys2(__NR_ftruncate, fd, (long)bytes);
        put_back(&before);
    }
    if (error == 0) return fd;
    sys1(__NR_close, fd);
    return error;
}

/* All of it, or what went wrong. */
static long write_all(int fd, struct iovec *part, u64 n) {
    for (;;) {
        while (n && !part->iov_len) part++, n--;
        if (!n) return 0;
        long r = sys3(__NR_writev, fd, (long)part, (long)n);
        if (r == -EINTR) continue;
        if (r <= 0) return r < 0 ? r : -EIO;
        u64 left = (u64)r;
        while (n && left >= part->iov_len) left -= part->iov_len, part++, n--;
        if (n) {
            part->iov_base = (u8 *)part->iov_base + left;
            part->iov_len -= left;
        }
    }
}

/* What fits into so many bytes. */
static u64 cut(struct iovec *parts, u64 n, u64 room) {
    for (u64 i = 0; i < n; i++) {
        if (parts[i].iov_len > room) {
            parts[i].iov_len = room;
            return i + 1;
        }
        room -= parts[i].iov_len;
    }
    return n;
}

long rt_append(int fd, u64 size, struct iovec *parts, u64 n) {
    struct limit before = {0, 0}, most;
    u64 end = size;
    for (u64 i = 0; i < n; i++) end += parts[i].iov_len;
    limit_sizes(NULL, &before);
    if (before.soft >= end) return write_all(fd, parts, n);
    most = lifted(&before);
    if (most.soft < end) n = cut(parts, n, most.soft > size ? most.soft - size : 0);
    long error = write_all(fd, parts, n);
    put_back(&before);
    return error || most.soft >= end ? error : -EFBIG;
}
