/* Descriptors of ours in the guest's table: the socket to the supervisor and our
 * own executable.  They sit at high numbers, and no call of the guest's sees them:
 * EBADF, as at any number that is free; dup2 onto one makes it take another.
 */
#include <asm/unistd.h>
#include <linux/close_range.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/resource.h>

#include "runtime/memory/memory.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/memory/mm.h"
#include "runtime/procfs/procfs.h"
#include "runtime/signals/sig.h"
#include "runtime/syscalls/syscall.h"

static rt_lock_t moving;

#define LEAST_FDS 64 /* NR_OPEN_DEFAULT */
int rt_passing_fds[RT_PASSING_FDS] = {[0 ... RT_PASSING_FDS - 1] = -1};

#define N_OURS (4 + RT_PASSING_FDS)
static int *const ours[N_OURS] = {
    &rt.sock_fd,    &rt.runtime_fd,     &rt.shadow_fd,      &rt.tool_fd,
    rt_passing_fds, rt_passing_fds + 1, rt_passing_fds + 2, rt_passing_fds + 3,
};
_Static_assert(RT_PASSING_FDS == 4, "ours names each");

void rt_hold_descriptors(bool hold) {
    if (hold)
        rt_lock(&moving);
    else
        rt_unlock(&moving);
}

/* Sockets of processes that share the table (CLONE_FILES without CLONE_VM): hidden, too. */
#define N_FOREIGN 16
static int foreign[N_FOREIGN] = {[0 ... N_FOREIGN - 1] = -1};

void rt_hide_foreign(int fd) {
    static u32 next;
    foreign[next++ % N_FOREIGN] = fd;
}

static bool is_foreign(int fd) {
    for (int i = 0; i < N_FOREIGN && fd >= 0; i++)
        if (foreign[i] == fd) return true;
    return false;
}

/* Where we note the descriptor; NULL if it is not one of ours. */
static int *noted(int fd) {
    for (int i = 0; i < N_OURS; i++)
        if (fd >= 0 && fd == *ours[i]) return ours[i];
    return NULL;
}

static bool hidden(int fd) { return noted(fd) != NULL || is_foreign(fd); }

bool rt_fd_is_ours(int fd) { return hidden(fd); }

static long pass(struct tstate *ts, long nr) {
    u64 args[6];
    rt_syscall_args(ts, args);
    return sig_wait_here(ts, nr, args);
}

static u64 slots_for(u64 highest) {
    u64 slots = LEAST_FDS;
    if (highest >= slots)
        for (slots = 256; slots <= highest; slots *= 2);
    return slots;
}

u64 rt_fd_slots(void) {
    char buf[1024];
    u64 highest = 0;
    long n, dir = sys4(__NR_openat, AT_FDCWD, (long)"/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (dir < 0) return 0;
    while ((n = sys3(__NR_getdents64, dir, (long)buf, sizeof buf)) > 0)
        for (long at = 0; at < n;) {
            u64 fd = 0;
            for (const char *p = buf + at + 19; *p >= '0' && *p <= '9'; p++) /* struct linux_dirent64: the name */
                fd = fd * 10 + (u64)(*p - '0');
            if (!hidden((int)fd) && (long)fd != dir && fd > highest) highest = fd;
            at += *(const u16 *)(buf + at + 16);
        }
    sys1(__NR_close, dir);
    return slots_for(highest);
}

bool rt_fd_is_open(int fd) { return fd >= 0 && !hidden(fd) && sys2(__NR_fcntl, fd, F_GETFD) >= 0; }

/* The kernel takes as many bits from the sets as its table has slots, whatever the program says: with
 * getdtablesize() they would be more than a set has, since ours stand high in that table. */
u64 rt_fds_selected(u64 n) {
    int last = (int)n - 1; /* mostly the highest of all: then the table is no smaller */
    if (last < LEAST_FDS || rt_fd_is_open(last)) return n;
    u64 slots = rt_fd_slots();
    if (slots == 0) {
        while (last >= LEAST_FDS && !rt_fd_is_open(last)) last--;
        slots = slots_for((u64)last);
    }
    return (u32)n < slots ? n : slots;
}

long rt_sys_select(struct tstate *ts) {
    u64 args[6];
    rt_syscall_args(ts, args);
    args[0] = rt_fds_selected(args[0]);
    return sig_wait_here(ts, __NR_select, args);
}

bool rt_arg_is_used_fd(long nr, enum rt_arg_kind kind, u32 i, const u64 args[6]) {
    char first = 0;
    if (kind == RT_ARG_FD) return nr != __NR_mmap || !(args[3] & MAP_ANONYMOUS);
    if (kind != RT_ARG_FOLDER || i >= 5) return false;
    return args[i + 1] == 0 || (rt_copy_from(&first, args[i + 1], 1) == 0 && first != '/');
}

#define NEVER_OPEN 0x7fffffff /* above all limits */

bool rt_without_ours(long nr, const struct rt_syscall_info *info, const u64 args[6], u64 without[6]) {
    const struct rt_syscall_described *d = rt_syscall_described(info);
    bool has = false;
    for (u32 left = d->descriptors; left; left &= left - 1) {
        u32 i = (u32)__builtin_ctz(left);
        if (!hidden((int)args[i]) || !rt_arg_is_used_fd(nr, d->args[i].kind, i, args)) continue;
        if (!has) memcpy(without, args, 6 * sizeof *args);
        without[i] = NEVER_OPEN;
        has = true;
    }
    return has;
}

/* A copy above fd, or, where the limit leaves nothing there, as high as can be. */
static long copy_up(int fd, int from, int cmd) {
    long r = sys3(__NR_fcntl, fd, cmd, from);
    for (int low = from / 2; r < 0 && low > 2; low /= 2) r = sys3(__NR_fcntl, fd, cmd, low);
    return r;
}

/* The kernel gave them the lowest numbers, which the program's calls are to have, and other threads may name before
 * they are known here. */
void rt_pass_fds(const int fds[RT_PASSING_FDS]) {
    struct rlimit64 before;
    bool raised = rt_more_files(&before);
    rt_lock(&moving);
    for (u32 i = 0; i < RT_PASSING_FDS; i++) {
        long r = copy_up(fds[i], rt.sock_fd + 1, F_DUPFD_CLOEXEC);
        if (r > fds[i]) {
            sys1(__NR_close, fds[i]);
        } else if (r >= 0) {
            sys1(__NR_close, r);
            r = -EMFILE;
        }
        rt_passing_fds[i] = r < 0 ? fds[i] : (int)r;
    }
    rt_unlock(&moving);
    if (raised) rt_files_as_before(&before);
}

void rt_passed_fds(bool close) {
    rt_lock(&moving);
    for (u32 i = 0; i < RT_PASSING_FDS; i++) {
        if (close) sys1(__NR_close, rt_passing_fds[i]);
        rt_passing_fds[i] = -1;
    }
    rt_unlock(&moving);
}

/* The guest wants the number: take another one.  0 or -errno. */
static long make_way(int fd) {
    rt_lock(&moving);
    int *moves = noted(fd);
    long r = is_foreign(fd) ? -EBUSY : 0; /* its owner could not know where it went */
    if (moves != NULL) {
        long cloexec = sys2(__NR_fcntl, fd, F_GETFD);
        int cmd = cloexec > 0 && (cloexec & FD_CLOEXEC) ? F_DUPFD_CLOEXEC : F_DUPFD;
        r = copy_up(fd, fd + 1, cmd);
        if (r >= 0) {
            *moves = (int)r;
            sys1(__NR_close, fd);
            r = 0;
        }
    }
    rt_unlock(&moving);
    return r;
}

static u32 arriving;

#define ARRIVAL_YIELDS 100
#define ARRIVAL_WAITS  600 /* with those; the rest of 0.1 ms: a close may sleep, but not before its number is free */

/* It is amid such a call: on a busy machine it may wait for a CPU there. */
static void let_pass(const struct rt_thread *th) {
    const i64 pause[2] = {0, 100000};
    for (u32 n = 0; n < ARRIVAL_WAITS && __atomic_load_n(&th->names_fd, __ATOMIC_SEQ_CST); n++)
        if (n < ARRIVAL_YIELDS)
            sys0(__NR_sched_yield);
        else
            sys2(__NR_nanosleep, (long)pause, 0);
}

void rt_fds_arrive(struct tstate *ts, bool begin) {
    struct tstate *o;
    __atomic_store_n(&arriving, begin, __ATOMIC_SEQ_CST);
    for (u32 i = 0; begin && (o = rt_thread_by_index(i)); i++)
        if (o != ts && rt_is_thread(o)) let_pass(rt_th(o));
}

/* In either order with rt_fds_arrive, one of the two sees what the other has done. */
static void name_fd(struct tstate *ts, bool begin) {
    u32 *names = &rt_th(ts)->names_fd;
    __atomic_store_n(names, begin, __ATOMIC_SEQ_CST);
    while (begin && __atomic_load_n(&arriving, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(names, 0, __ATOMIC_SEQ_CST);
        sys0(__NR_sched_yield);
        __atomic_store_n(names, 1, __ATOMIC_SEQ_CST);
    }
}

long rt_sys_close(struct tstate *ts) {
    name_fd(ts, true);
    long r = hidden((int)ts->gpr[IP_RDI]) ? -EBADF : pass(ts, __NR_close);
    name_fd(ts, false);
    return r;
}

long rt_sys_dup(struct tstate *ts) {
    int from = (int)ts->gpr[IP_RDI];
    long r = hidden(from) ? -EBADF : pass(ts, __NR_dup);
    if (r >= 0) rt_proc_copied(from, (int)r);
    return r;
}

static long dup_onto(struct tstate *ts, long nr) {
    int from = (int)ts->gpr[IP_RDI], to = (int)ts->gpr[IP_RSI];
    name_fd(ts, true);
    long r = hidden(from) || (hidden(to) && make_way(to) < 0) ? -EBADF : pass(ts, nr);
    name_fd(ts, false);
    if (r >= 0) rt_proc_copied(from, to);
    return r;
}

long rt_sys_dup2(struct tstate *ts) { return dup_onto(ts, __NR_dup2); }
long rt_sys_dup3(struct tstate *ts) { return dup_onto(ts, __NR_dup3); }

long rt_sys_fcntl(struct tstate *ts) {
    int from = (int)ts->gpr[IP_RDI], cmd = (int)ts->gpr[IP_RSI];
    long r = hidden(from) ? -EBADF : pass(ts, __NR_fcntl);
    if (r >= 0 && (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC)) rt_proc_copied(from, (int)r);
    return r;
}

/* Around our descriptors, piece by piece. */
long rt_sys_close_range(struct tstate *ts) {
    u64 first = (u32)ts->gpr[IP_RDI], last = (u32)ts->gpr[IP_RSI], flags = (u32)ts->gpr[IP_RDX];
    if (first > last) return -EINVAL;
    long r = 0;
    bool done = false;
    name_fd(ts, true);
    while (first <= last && r == 0) {
        u64 end = last + 1, next = last + 1; /* this piece is [first, end) */
        for (int i = 0; i < N_OURS + N_FOREIGN; i++) {
            int fd = i < N_OURS ? *ours[i] : foreign[i - N_OURS];
            if (fd >= 0 && (u64)fd >= first && (u64)fd < end) end = (u64)fd, next = end + 1;
        }
        if (end > first) {
            u64 args[6] = {first, end - 1, flags, 0, 0, 0};
            r = rt_kernel(rt_th(ts), __NR_close_range, args);
            flags &= ~(u64)CLOSE_RANGE_UNSHARE; /* the table is ours alone after the first */
            done = true;
        }
        first = next;
    }
    if (!done && r == 0) { /* nothing but ours: still judge the flags */
        u64 args[6] = {~0u, ~0u, flags, 0, 0, 0};
        r = rt_kernel(rt_th(ts), __NR_close_range, args);
    }
    name_fd(ts, false);
    return r;
}

/* ---- /proc/self/fd without ours ---------------------------------------------------------- */

struct dirent64 { /* getdents64(2) */
    u64 ino, off;
    u16 reclen;
    u8 type;
    char name[];
};

/* fd and fdinfo: descriptors of ours.  map_files: "lo-hi" of mappings of ours. */
static bool names_ours(enum proc_leaf folder, const char *name) {
    u64 n = 0;
    if (folder == PROC_MAP_FILES) {
        struct rt_seg seg;
        for (; *name && *name != '-'; name++) n = n << 4 | (u64)(*name <= '9' ? *name - '0' : *name - 'a' + 10);
        return *name == '-' && (!rt_find_seg(n, &seg) || (seg.mflags & MM_OURS));
    }
    for (; *name >= '0' && *name <= '9' && n < (1u << 30); name++) n = n * 10 + (u64)(*name - '0');
    return *name == 0 && hidden((int)n);
}

/* Keep the entries that are not ours; bytes left. */
static long filter(enum proc_leaf folder, u64 at, long r) {
    u64 bytes = (u64)r;
    long kept = 0;
    u8 *copy = rt_pages(bytes);
    if (rt_copy_from(copy, at, bytes) == 0) {
        for (long p = 0; p < r;) {
            const struct dirent64 *d = (const struct dirent64 *)(copy + p);
            long len = d->reclen;
            if (!names_ours(folder, d->name)) {
                memmove(copy + kept, copy + p, (u64)len);
                kept += len;
            }
            p += len;
        }
        if (kept > 0 && rt_copy_to(at, copy, (u64)kept) != 0) kept = r;
    }
    rt_free_pages(copy, bytes);
    return kept;
}

long rt_sys_getdents64(struct tstate *ts) {
    int fd = (int)ts->gpr[IP_RDI];
    long r = pass(ts, __NR_getdents64), kept;
    if (r <= 0) return r;
    enum proc_leaf folder = proc_identify(fd).leaf;
    if (folder != PROC_FD && folder != PROC_FDINFO && folder != PROC_MAP_FILES) return r;
    /* 0 would mean the end: after a buffer with nothing but ours comes the next. */
    while ((kept = filter(folder, ts->gpr[IP_RSI], r)) == 0)
        if ((r = pass(ts, __NR_getdents64)) <= 0) return r;
    return kept;
}
