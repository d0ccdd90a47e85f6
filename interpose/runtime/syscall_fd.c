/* Descriptors of ours in the guest's table: the socket to the supervisor and our
 * own executable.  They sit at high numbers, and the calls with which a program
 * tidies its table (close everything, dup2 onto a fixed number) do not see them.
 */
#include <asm/unistd.h>
#include <linux/close_range.h>
#include <linux/errno.h>
#include <linux/fcntl.h>

#include "syscall.h"

static rt_lock_t moving;

static bool hidden(int fd) {
    return fd >= 0 && (fd == rt.sock_fd || fd == rt.runtime_fd);
}

static long pass(struct tstate *ts, long nr) {
    u64 args[6];
    rt_syscall_args(ts, args);
    return rt_kernel(rt_th(ts), nr, args);
}

/* The guest wants the number: take another one.  0 or -errno. */
static long make_way(int fd) {
    rt_lock(&moving);
    int *ours = fd == rt.sock_fd ? &rt.sock_fd : fd == rt.runtime_fd ? &rt.runtime_fd : NULL;
    long r = 0;
    if (ours != NULL) {
        long cloexec = sys2(__NR_fcntl, fd, F_GETFD);
        int cmd = cloexec > 0 && (cloexec & FD_CLOEXEC) ? F_DUPFD_CLOEXEC : F_DUPFD;
        r = sys3(__NR_fcntl, fd, cmd, fd + 1);
        for (int low = fd / 2; r < 0 && low > 2; low /= 2) /* nothing above: as high as can be */
            r = sys3(__NR_fcntl, fd, cmd, low);
        if (r >= 0) {
            *ours = (int)r;
            sys1(__NR_close, fd);
            r = 0;
        }
    }
    rt_unlock(&moving);
    return r;
}

long rt_sys_close(struct tstate *ts) {
    return hidden((int)ts->gpr[IP_RDI]) ? -EBADF : pass(ts, __NR_close);
}

long rt_sys_dup(struct tstate *ts) {
    return hidden((int)ts->gpr[IP_RDI]) ? -EBADF : pass(ts, __NR_dup);
}

static long dup_onto(struct tstate *ts, long nr) {
    int from = (int)ts->gpr[IP_RDI], to = (int)ts->gpr[IP_RSI];
    if (hidden(from) || (hidden(to) && make_way(to) < 0))
        return -EBADF;
    return pass(ts, nr);
}

long rt_sys_dup2(struct tstate *ts) { return dup_onto(ts, __NR_dup2); }
long rt_sys_dup3(struct tstate *ts) { return dup_onto(ts, __NR_dup3); }

long rt_sys_fcntl(struct tstate *ts) {
    return hidden((int)ts->gpr[IP_RDI]) ? -EBADF : pass(ts, __NR_fcntl);
}

/* Around our descriptors, in up to three pieces. */
long rt_sys_close_range(struct tstate *ts) {
    u64 first = (u32)ts->gpr[IP_RDI], last = (u32)ts->gpr[IP_RSI], flags = (u32)ts->gpr[IP_RDX];
    if (first > last)
        return -EINVAL;
    u64 ours[2] = {(u64)rt.sock_fd, (u64)rt.runtime_fd};
    if (ours[0] > ours[1]) {
        u64 swap = ours[0];
        ours[0] = ours[1], ours[1] = swap;
    }
    long r = 0;
    bool done = false;
    for (int i = 0; i <= 2 && r == 0; i++) {
        u64 end = i < 2 && ours[i] <= last ? ours[i] : last + 1; /* this piece is [first, end) */
        if (i < 2 && (ours[i] < first || ours[i] > last))
            continue;
        if (end > first) {
            u64 args[6] = {first, end - 1, flags, 0, 0, 0};
            r = rt_kernel(rt_th(ts), __NR_close_range, args);
            flags &= ~(u64)CLOSE_RANGE_UNSHARE; /* the table is ours alone after the first */
            done = true;
        }
        first = end + 1;
    }
    if (!done && r == 0) { /* nothing but ours: still judge the flags */
        u64 args[6] = {~0u, ~0u, flags, 0, 0, 0};
        r = rt_kernel(rt_th(ts), __NR_close_range, args);
    }
    return r;
}
