/* Descriptors that system calls make: where each call says their numbers, and other numbers for them (--modify-fds). */
#include <asm/unistd.h>
#include <linux/bpf.h>
#include <linux/fcntl.h>
#include <linux/landlock.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

#include "runtime/syscalls/descriptors.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/syscalls/syscall.h"

#define SOL_SOCKET    1
#define SCM_RIGHTS    1
#define SCM_PIDFD     4
#define MAX_MESSAGES  1024
#define HIGHEST_FD    1023 /* what fits in an fd_set */
#define F_DUPFD_EXEC_ 1030 /* F_DUPFD_CLOEXEC */

/* ---- which they are ------------------------------------------------------------------------ */

static bool bpf_makes(u64 command) {
    switch ((u32)command) {
    case BPF_MAP_CREATE:
    case BPF_PROG_LOAD:
    case BPF_OBJ_GET:
    case BPF_PROG_GET_FD_BY_ID:
    case BPF_MAP_GET_FD_BY_ID:
    case BPF_RAW_TRACEPOINT_OPEN:
    case BPF_BTF_LOAD:
    case BPF_BTF_GET_FD_BY_ID:
    case BPF_LINK_CREATE:
    case BPF_LINK_GET_FD_BY_ID:
    case BPF_ENABLE_STATS:
    case BPF_ITER_CREATE: return true;
    default: return false;
    }
}

static bool ioctl_makes(u32 request) {
    switch (request) {
    case 0x5441:     /* TIOCGPTPEER */
    case 0xae01:     /* KVM_CREATE_VM */
    case 0xae41:     /* KVM_CREATE_VCPU */
    case 0xb701:     /* NS_GET_USERNS */
    case 0xb702:     /* NS_GET_PARENT */
    case 0x8010b70b: /* NS_MNT_GET_NEXT */
    case 0x8010b70c: /* NS_MNT_GET_PREV */
    case USERFAULTFD_IOC_NEW_: return true;
    default: return request - 0xff01 < 10; /* PIDFD_GET_*_NAMESPACE */
    }
}

static bool result_is_new(long nr, const struct rt_syscall_info *info, const u64 args[6]) {
    switch (nr) {
    case __NR_fcntl: return (u32)args[1] == F_DUPFD || (u32)args[1] == F_DUPFD_EXEC_;
    case __NR_dup2: return (u32)args[0] != (u32)args[1];
    case __NR_signalfd:
    case __NR_signalfd4: return (int)args[0] == -1;
    case __NR_landlock_create_ruleset: return args[2] == 0;
    case __NR_seccomp: return (u32)args[0] == SECCOMP_SET_MODE_FILTER && (args[1] & SECCOMP_FILTER_FLAG_NEW_LISTENER);
    case __NR_bpf: return bpf_makes(args[0]);
    case __NR_ioctl: return ioctl_makes((u32)args[1]);
    default: return rt_returns_fd(info);
    }
}

/* ---- where they are ------------------------------------------------------------------------ */

static void in_memory(struct tstate *ts, u64 at, u32 n, fd_seen *seen) {
    for (; n; n--, at += 4) {
        int fd, other;
        if (rt_copy_from(&fd, at, sizeof fd) != 0 || fd < 0) continue;
        other = seen(ts, fd);
        if (other != fd) rt_copy_to(at, &other, sizeof other);
    }
}

/* Those that a message brings or has brought: struct msghdr at the address. */
static void in_message(struct tstate *ts, u64 at, fd_seen *seen) {
    u64 msg[7];
    struct {
        u64 len;
        int level, type;
    } c;
    if (rt_copy_from(msg, at, sizeof msg) != 0) return;
    for (u64 p = msg[4], end = p + msg[5]; p && p < end && end - p >= sizeof c; p += RT_ROUND_UP(c.len, 8)) {
        if (rt_copy_from(&c, p, sizeof c) != 0 || c.len < sizeof c || c.len > end - p) return;
        if (c.level != SOL_SOCKET || (c.type != SCM_RIGHTS && c.type != SCM_PIDFD)) continue;
        in_memory(ts, p + sizeof c, (u32)((c.len - sizeof c) / 4), seen);
    }
}

long fd_each_new(struct tstate *ts, long nr, const struct rt_syscall_info *info, const u64 args[6], long result,
                 fd_seen *seen) {
    u64 flags = 0, at = args[2];
    switch (nr) {
    case __NR_pipe:
    case __NR_pipe2: in_memory(ts, args[0], 2, seen); return result;
    case __NR_socketpair: in_memory(ts, args[3], 2, seen); return result;
    case __NR_recvmsg: in_message(ts, args[1], seen); return result;
    case __NR_recvmmsg:
        for (long i = 0; i < result && i < MAX_MESSAGES; i++) in_message(ts, args[1] + 64 * (u64)i, seen);
        return result;
    case __NR_clone:
        if (result > 0 && (args[0] & CLONE_PIDFD)) in_memory(ts, at, 1, seen);
        return result;
    case __NR_clone3:
        if (result > 0 && rt_copy_from(&flags, args[0], 8) == 0 && (flags & CLONE_PIDFD) &&
            rt_copy_from(&at, args[0] + 8, 8) == 0)
            in_memory(ts, at, 1, seen);
        return result;
    default: return result_is_new(nr, info, args) ? seen(ts, (int)result) : result;
    }
}

void fd_each_sent(struct tstate *ts, long nr, const u64 args[6], fd_seen *seen) {
    u64 n = nr == __NR_sendmmsg ? (u32)args[2] : nr == __NR_sendmsg;
    for (u64 i = 0; i < n && i < MAX_MESSAGES; i++) in_message(ts, args[1] + 64 * i, seen);
}

/* ---- other numbers --------------------------------------------------------------------------- */

/* The numbers go down from the highest, and come again when none is left that was not used. */
static int next_number(void) {
    static int last = HIGHEST_FD + 1;
    struct rlimit64 limit;
    int top = HIGHEST_FD;
    if (sys4(__NR_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit) == 0 && limit.rlim_cur <= (u64)top)
        top = (int)limit.rlim_cur - 1;
    for (int tries = 0; tries <= top; tries++) {
        int before = __atomic_load_n(&last, __ATOMIC_RELAXED), fd = before > top || before <= 3 ? top : before - 1;
        if (__atomic_compare_exchange_n(&last, &before, fd, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
            sys2(__NR_fcntl, fd, F_GETFD) < 0)
            return fd;
    }
    return -1;
}

int fd_renumbered(struct tstate *ts, int fd) {
    (void)ts;
    if (fd < 0 || (fd <= 2 && !(rt.flags & IP_C_MOVE_ALL_FDS))) return fd;
    long flags = sys2(__NR_fcntl, fd, F_GETFD);
    int to = flags < 0 ? -1 : next_number();
    if (to <= fd) return fd;
    /* Not dup2: another thread may just have got the number. */
    long r = sys3(__NR_fcntl, fd, flags & FD_CLOEXEC ? F_DUPFD_EXEC_ : F_DUPFD, to);
    if (r < 0) return fd;
    rt_proc_copied(fd, (int)r);
    sys1(__NR_close, fd);
    return (int)r;
}
