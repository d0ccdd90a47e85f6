/* The program's descriptors, told to the supervisor with --track-fds.
 *
 * What is open the kernel knows best: descriptors come and go through shared tables and rings of requests, too.  So
 * nothing is kept here.  The supervisor has a table of what it was told, to say where and as what a number was opened
 * and closed; whether a number is open is asked of the kernel when a call is about to use it.
 */
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/close_range.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/sched.h>

#include "abi/descriptors.h"
#include "runtime/core/errors.h"
#include "runtime/syscalls/descriptors.h"
#include "runtime/syscalls/syscalls.h"

#define SOL_SOCKET   1
#define SO_DOMAIN    39
#define POLLNVAL     32
#define MAX_POLLED   65536u
#define MAX_SELECTED 1024u
#define MAX_TOLD     500u
#define NUMBERS      1900u

_Static_assert(sizeof(struct ip_fd) + MAX_TOLD * 8 <= IP_SLOT_DATA, "a descriptor and a stack trace fit in a slot");
_Static_assert(NUMBERS * 4 <= IP_SLOT_DATA, "numbers fit in a slot");

/* For the program: not one of ours. */
static bool fd_is_open(int fd) { return fd >= 0 && !rt_fd_is_ours(fd) && sys2(__NR_fcntl, fd, F_GETFD) >= 0; }

/* ---- telling ------------------------------------------------------------------------------ */

static void describe(struct ip_fd *d, int fd) {
    char link[48];
    int len = sizeof d->domain;
    memset(d, 0, sizeof *d);
    d->number = fd;
    if (sys5(__NR_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, (long)&d->domain, (long)&len) == 0) {
        len = sizeof d->name;
        if (sys3(__NR_getsockname, fd, (long)d->name, (long)&len) == 0) d->name_bytes = (u32)len;
        len = sizeof d->peer;
        if (sys3(__NR_getpeername, fd, (long)d->peer, (long)&len) == 0) d->peer_bytes = (u32)len;
        return;
    }
    d->domain = -1;
    rt_snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
    long n = sys3(__NR_readlink, (long)link, (long)d->path, sizeof d->path);
    if (n > 0) d->path_bytes = (u32)n;
}

static void tell(struct tstate *ts, enum ip_fd_event event, int fd) {
    struct ip_slot *s = rt_slot(ts);
    struct ip_fd *d = (struct ip_fd *)s->data;
    if ((event == IP_FD_NO_MORE || event == IP_FD_UNKNOWN) && rt_th(ts)->errors_off) return;
    if (event == IP_FD_NO_MORE || event == IP_FD_UNKNOWN) {
        memset(d, 0, sizeof *d);
        d->number = fd;
        d->domain = -1;
    } else {
        describe(d, fd);
    }
    s->a[0] = event;
    s->a[1] = rt_th(ts)->files;
    s->len = sizeof *d;
    if (rt.flags & IP_C_CALLSTACK) {
        u64 *frames = (u64 *)(void *)(d + 1);
        u32 want = (u32)rt.chan->num_callers, n = rt_stack_trace(ts, frames, want && want < MAX_TOLD ? want : MAX_TOLD);
        s->len += n * 8;
    }
    rt_request_python(ts, IP_R_FDS);
    if (s->r[0]) sys1(__NR_exit_group, (long)s->r[1]); /* --exit-on-first-error: the report is out */
}

/* Every descriptor of the thread's, ours left out; false: the kernel does not list them. */
static bool each_open(struct tstate *ts, void (*seen)(struct tstate *ts, int fd, void *to), void *to) {
    u8 names[2048];
    long dir = sys4(__NR_openat, AT_FDCWD, (long)"/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (dir < 0) return false;
    for (long n; (n = sys3(__NR_getdents64, dir, (long)names, sizeof names)) > 0;)
        for (long at = 0; at < n;) {
            const u8 *entry = names + at; /* struct linux_dirent64: ino, off, reclen, type, name */
            u16 len;
            int fd = 0;
            memcpy(&len, entry + 16, sizeof len);
            for (const u8 *c = entry + 19; *c >= '0' && *c <= '9'; c++) fd = fd * 10 + (*c - '0');
            if (entry[19] >= '0' && entry[19] <= '9' && fd != dir && !rt_fd_is_ours(fd)) seen(ts, fd, to);
            at += len;
        }
    sys1(__NR_close, dir);
    return true;
}

struct list {
    enum ip_fd_event event;
    u32 n;
    int numbers[NUMBERS];
};

static void send(struct tstate *ts, const struct list *l, bool more) {
    struct ip_slot *s = rt_slot(ts);
    s->a[0] = l->event;
    s->a[1] = rt_th(ts)->files;
    s->a[2] = more;
    s->len = l->n * 4;
    memcpy(s->data, l->numbers, s->len);
    rt_request_python(ts, IP_R_FDS);
}

static void collect(struct tstate *ts, int fd, void *to) {
    struct list *l = to;
    if (l->n == NUMBERS) {
        send(ts, l, true);
        l->n = 0;
    }
    l->numbers[l->n++] = fd;
}

static void refresh(struct tstate *ts, int fd, void *to) {
    (void)to;
    tell(ts, IP_FD_CHANGED, fd);
}

static void tell_all(struct tstate *ts, enum ip_fd_event event) {
    struct list *l = rt_pages(sizeof *l);
    l->event = event;
    if (!each_open(ts, collect, l))
        for (int fd = 0; fd < 1024; fd++) /* without /proc */
            if (fd_is_open(fd)) collect(ts, fd, l);
    send(ts, l, false);
    rt_free_pages(l, sizeof *l);
}

void rt_fds_begin(struct tstate *ts) {
    if (!(rt.flags & IP_C_TRACK_FDS)) return;
    tell_all(ts, IP_FD_FOUND);
    each_open(ts, refresh, NULL);
}

void rt_fds_end(struct tstate *ts) {
    if (!(rt.flags & IP_C_TRACK_FDS)) return;
    each_open(ts, refresh, NULL);
    tell_all(ts, IP_FD_LEFT);
}

u32 rt_fds_copied(struct tstate *ts) {
    static u32 last;
    if (!(rt.flags & IP_C_TRACK_FDS)) return 0;
    struct ip_slot *s = rt_slot(ts);
    u32 to = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    s->a[0] = IP_FD_COPIED;
    s->a[1] = rt_th(ts)->files;
    s->a[2] = to;
    s->len = 0;
    rt_request_python(ts, IP_R_FDS);
    return to;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void use(struct tstate *ts, int fd) {
    if (fd >= 0 && !fd_is_open(fd)) tell(ts, IP_FD_UNKNOWN, fd);
}

struct range {
    u64 first, last;
};

static void close_in_range(struct tstate *ts, int fd, void *to) {
    const struct range *r = to;
    if ((u64)fd >= r->first && (u64)fd <= r->last) tell(ts, IP_FD_CLOSING, fd);
}

void rt_fds_before(struct tstate *ts, long nr, const struct rt_syscall_info *info, const u64 args[6]) {
    if (!(rt.flags & IP_C_TRACK_FDS)) return;
    int fd = (int)args[0];
    if (nr == __NR_close) {
        /* Told before it happens, for at once another thread may get the number. */
        if (fd >= 0) tell(ts, fd_is_open(fd) ? IP_FD_CLOSING : IP_FD_NO_MORE, fd);
        return;
    }
    if (nr == __NR_close_range) {
        struct range r = {(u32)args[0], (u32)args[1]};
        if (r.first > r.last || ((u32)args[2] & ~(u32)(CLOSE_RANGE_CLOEXEC | CLOSE_RANGE_UNSHARE))) return;
        if (args[2] & CLOSE_RANGE_UNSHARE) rt_th(ts)->files = rt_fds_copied(ts);
        if (!(args[2] & CLOSE_RANGE_CLOEXEC)) each_open(ts, close_in_range, &r);
        return;
    }
    const char *cursor = info->args;
    struct rt_syscall_arg a;
    for (u32 i = 0; i < 6 && rt_next_arg(&cursor, &a); i++)
        if (rt_arg_is_used_fd(nr, a.kind, i, args)) use(ts, (int)args[i]);
}

/* poll says which are none. */
static void polled(struct tstate *ts, u64 at, u64 n) {
    struct {
        int fd;
        short events, revents;
    } p;
    for (u64 i = 0; i < n && i < MAX_POLLED && rt_copy_from(&p, at + i * sizeof p, sizeof p) == 0; i++)
        if (p.revents & POLLNVAL) use(ts, p.fd);
}

/* select only that there is one; its sets are as they were. */
static void selected(struct tstate *ts, const u64 args[6]) {
    u64 set[MAX_SELECTED / 64];
    u64 n = (u32)args[0] < MAX_SELECTED ? (u32)args[0] : MAX_SELECTED;
    for (u32 which = 1; which <= 3; which++) {
        if (!args[which] || rt_copy_from(set, args[which], RT_ROUND_UP(n, 64) / 8) != 0) continue;
        for (u64 fd = 0; fd < n; fd++)
            if (set[fd / 64] >> (fd % 64) & 1) use(ts, (int)fd);
    }
}

/* sendmsg that there is one among those that the message hands on. */
static int sent(struct tstate *ts, int fd) {
    use(ts, fd);
    return fd;
}

static int opened(struct tstate *ts, int fd) {
    tell(ts, IP_FD_OPENED, fd);
    return fd;
}

static bool has_address(long nr, long result) {
    return (nr == __NR_bind || nr == __NR_connect || nr == __NR_listen) && (result == 0 || result == -EINPROGRESS);
}

long rt_fds_after(struct tstate *ts, long nr, const struct rt_syscall_info *info, const u64 args[6], long result) {
    if (result >= 0 && (rt.flags & (IP_C_MOVE_FDS | IP_C_MOVE_ALL_FDS)) && nr != __NR_dup2 && nr != __NR_dup3)
        result = fd_each_new(ts, nr, info, args, result, fd_renumbered);
    if (!(rt.flags & IP_C_TRACK_FDS)) return result;
    if ((nr == __NR_poll || nr == __NR_ppoll) && result > 0) polled(ts, args[0], args[1]);
    if ((nr == __NR_select || nr == __NR_pselect6) && result == -EBADF) selected(ts, args);
    if (result == -EBADF) fd_each_sent(ts, nr, args, sent);
    if (nr == __NR_unshare && result == 0 && (args[0] & CLONE_FILES)) rt_th(ts)->files = rt_fds_copied(ts);
    if (has_address(nr, result)) tell(ts, IP_FD_CHANGED, (int)args[0]);
    if (result >= 0) result = fd_each_new(ts, nr, info, args, result, opened);
    return result;
}
