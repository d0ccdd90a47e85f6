/* What a system call has read and written of the program's memory, for a debugger's watchpoints: by the table of
 * system calls, and for those whose memory depends on other arguments by what is here: ioctl by the size in the
 * request's number, futex, poll and select. */
#include <asm/ioctls.h>
#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/ioctl.h>
#include <linux/uio.h>

#include "runtime/core/core.h"
#include "runtime/syscalls/syscall.h"

#define MAX_IOVECS 1024
#define MAX_STRING 4096
#define MAX_POLLED 65536

/* bytes: of all together. */
static void iovecs(struct tstate *ts, u64 at, u64 count, u64 bytes, u32 access) {
    struct iovec v;
    for (u64 i = 0; i < count && i < MAX_IOVECS && bytes; i++) {
        if (rt_copy_from(&v, at + i * sizeof v, sizeof v) != 0) return;
        rt_debug_touched(ts, at + i * sizeof v, sizeof v, IP_ACC_R);
        u64 n = v.iov_len < bytes ? v.iov_len : bytes;
        rt_debug_touched(ts, (u64)v.iov_base, n, access);
        bytes -= n;
    }
}

/* struct msghdr: name, its length, iovecs, their number, control, its length, flags. */
static void message(struct tstate *ts, u64 at, u64 bytes, u32 access) {
    u64 msg[7];
    if (rt_copy_from(msg, at, sizeof msg) != 0) return;
    rt_debug_touched(ts, at, sizeof msg, IP_ACC_R);
    rt_debug_touched(ts, msg[0], (u32)msg[1], access);
    iovecs(ts, msg[2], msg[3], bytes, access);
    rt_debug_touched(ts, msg[4], msg[5], access);
}

static void string(struct tstate *ts, u64 at) {
    u64 n = 0;
    for (char c = 1; c && n < MAX_STRING; n++)
        if (rt_copy_from(&c, at + n, 1) != 0) break;
    rt_debug_touched(ts, at, n, IP_ACC_R);
}

static void ioctl(struct tstate *ts, u64 request, u64 at, bool done) {
    u64 size = _IOC_SIZE(request);
    u32 dir = _IOC_DIR(request);
    switch (request) { /* older than such numbers */
    case TCGETS: size = 36, dir = _IOC_READ; break;
    case TCSETS:
    case TCSETSW:
    case TCSETSF: size = 36, dir = _IOC_WRITE; break;
    case TIOCGWINSZ: size = 8, dir = _IOC_READ; break;
    case TIOCSWINSZ: size = 8, dir = _IOC_WRITE; break;
    case TIOCGPGRP:
    case TIOCOUTQ:
    case FIONREAD: size = 4, dir = _IOC_READ; break;
    case TIOCSPGRP:
    case FIONBIO:
    case FIOASYNC: size = 4, dir = _IOC_WRITE; break;
    default: break;
    }
    if (dir & _IOC_WRITE) rt_debug_touched(ts, at, size, IP_ACC_R); /* by the kernel */
    if ((dir & _IOC_READ) && done) rt_debug_touched(ts, at, size, IP_ACC_W);
}

static void futex(struct tstate *ts, const u64 args[6]) {
    switch (args[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: return;
    case FUTEX_LOCK_PI:
    case FUTEX_TRYLOCK_PI:
    case FUTEX_UNLOCK_PI: rt_debug_touched(ts, args[0], 4, IP_ACC_R | IP_ACC_W); return;
    case FUTEX_WAKE_OP: rt_debug_touched(ts, args[4], 4, IP_ACC_R | IP_ACC_W); return;
    default: rt_debug_touched(ts, args[0], 4, IP_ACC_R);
    }
}

/* struct pollfd: descriptor and events, which are read; revents. */
static void poll(struct tstate *ts, u64 at, u64 count, bool done) {
    for (u64 i = 0; i < count && i < MAX_POLLED; i++) {
        rt_debug_touched(ts, at + 8 * i, 6, IP_ACC_R);
        if (done) rt_debug_touched(ts, at + 8 * i + 6, 2, IP_ACC_W);
    }
}

static void special(struct tstate *ts, long nr, const u64 args[6], bool done) {
    switch (nr) {
    case __NR_ioctl: ioctl(ts, (u32)args[1], args[2], done); break;
    case __NR_futex: futex(ts, args); break;
    case __NR_poll:
    case __NR_ppoll: poll(ts, args[0], args[1], done); break;
    case __NR_select:
    case __NR_pselect6:
        for (u32 i = 1; i < 4; i++)
            if (args[i] && args[0] <= MAX_POLLED)
                rt_debug_touched(ts, args[i], (args[0] + 63) / 64 * 8, done ? IP_ACC_R | IP_ACC_W : IP_ACC_R);
        break;
    default: break;
    }
}

void rt_syscall_touched(struct tstate *ts, long nr, const u64 given[6], long result) {
    const struct rt_syscall_info *info = rt_syscall_info(nr);
    if (!info || !info->args) return;
    const struct rt_syscall_described *d = rt_syscall_described(info);
    u64 args[6];
    rt_args_taken(d, given, args);
    special(ts, nr, args, result >= 0);
    u64 moved = result > 0 ? (u64)result : 0;
    for (u32 i = 0; i < d->n; i++) {
        const struct rt_syscall_arg *a = &d->args[i];
        u64 at = args[i], size = rt_size_value(&a->size, args, result);
        bool writes = result >= 0;
        if (!at) continue;
        switch (a->kind) {
        case RT_ARG_STRING: string(ts, at); break;
        case RT_ARG_IN:
        case RT_ARG_ADDR_IN: rt_debug_touched(ts, at, size, IP_ACC_R); break;
        case RT_ARG_INOUT: rt_debug_touched(ts, at, size, IP_ACC_R); __attribute__((fallthrough));
        case RT_ARG_OUT:
            if (writes) rt_debug_touched(ts, at, rt_size_value(&a->after, args, result), IP_ACC_W);
            break;
        case RT_ARG_IOV_IN: iovecs(ts, at, size, moved, IP_ACC_R); break;
        case RT_ARG_IOV_OUT: iovecs(ts, at, size, moved, IP_ACC_W); break;
        case RT_ARG_MSG_IN: message(ts, at, moved, IP_ACC_R); break;
        case RT_ARG_MSG_OUT:
            if (writes) message(ts, at, moved, IP_ACC_W);
            break;
        case RT_ARG_ADDR_OUT:
            if (writes && i < 5) {
                struct rt_size len = {RT_SIZE_DEREF, i + 1, 1};
                rt_debug_touched(ts, at, rt_size_value(&len, args, 0), IP_ACC_W);
            }
            break;
        default: break;
        }
    }
}
