/* The program's descriptors, followed with --track-fds.
 *
 * What is open the kernel knows best: descriptors come and go through shared tables and rings of requests, too.  So
 * whether a number is open is asked of the kernel when a call is about to use it.  What is noted (fd_notes.c) says
 * where and as what it was opened and closed.
 */
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/close_range.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/sched.h>

#include "runtime/core/errors.h"
#include "runtime/syscalls/descriptors.h"
#include "runtime/syscalls/fd_notes.h"
#include "runtime/syscalls/syscalls.h"

#define SOL_SOCKET   1
#define SO_DOMAIN    39
#define POLLNVAL     32
#define MAX_POLLED   65536u
#define MAX_SELECTED 1024u
#define NUMBERS      1900u
#define ADDRESS      128u
#define PATH         1024u

_Static_assert(2 * ADDRESS + PATH <= sizeof(((struct fd_text *)0)->bytes), "all that a descriptor may be called");
_Static_assert(IP_FD_FRAMES * 8 <= IP_SLOT_DATA, "a stack trace fits in a slot");
_Static_assert(NUMBERS * 4 <= IP_SLOT_DATA, "numbers fit in a slot");

/* ---- noting and telling ------------------------------------------------------------------- */

static void describe(struct fd_text *t, int fd) {
    char link[48];
    int len = sizeof t->domain;
    t->name_bytes = t->peer_bytes = t->path_bytes = 0;
    if (sys5(__NR_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, (long)&t->domain, (long)&len) == 0) {
        len = ADDRESS;
        if (sys3(__NR_getsockname, fd, (long)t->bytes, (long)&len) == 0) t->name_bytes = (u32)len;
        if (t->name_bytes > ADDRESS) t->name_bytes = ADDRESS;
        len = ADDRESS;
        if (sys3(__NR_getpeername, fd, (long)(t->bytes + t->name_bytes), (long)&len) == 0) t->peer_bytes = (u32)len;
        if (t->peer_bytes > ADDRESS) t->peer_bytes = ADDRESS;
        return;
    }
    t->domain = -1;
    rt_snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
    long n = sys3(__NR_readlink, (long)link, (long)t->bytes, PATH);
    /* What is no file in a folder has names of the kernel's own: pipe:[1], anon_inode:[eventfd], /memfd:x (deleted). */
    if (n > 0 && t->bytes[0] == '/' && (n < 7 || rt_strncmp((char *)t->bytes, "/memfd:", 7) != 0))
        t->path_bytes = (u32)n;
}

/* What the program has opened by that path; false: it cannot be read, or is none. */
static bool describe_opened(struct fd_text *t, u64 path) {
    long n = path ? rt_strncpy_from((char *)t->bytes, path, PATH) : 0;
    t->domain = -1;
    t->name_bytes = t->peer_bytes = 0;
    t->path_bytes = n > 0 ? (u32)n : 0;
    return n > 0;
}

/* The supervisor hears of an event, with its own numbers and data (abi/descriptors.h). */
static struct ip_slot *tell(struct tstate *ts, enum ip_fd_event event, u64 number, u64 other, const void *data,
                            u32 len) {
    struct ip_slot *s = rt_slot(ts);
    s->a[0] = event;
    s->a[1] = rt_th(ts)->files;
    s->a[2] = number;
    s->a[3] = other;
    s->len = len;
    memcpy(s->data, data, len);
    rt_request_python(ts, IP_R_FDS);
    return s;
}

/* Where the thread is.  Without a call stack the supervisor unwinds it. */
static void look_where(struct tstate *ts, struct fd_stack *where) {
    u32 most = (u32)rt.chan->num_callers;
    if (!most || most > IP_FD_FRAMES) most = IP_FD_FRAMES;
    if (rt.flags & IP_C_CALLSTACK) {
        where->n = rt_stack_trace(ts, where->frames, most);
        return;
    }
    const struct ip_slot *s = tell(ts, IP_FD_STACK, 0, 0, NULL, 0);
    where->n = s->r[0] < most ? (u32)s->r[0] : most;
    memcpy(where->frames, s->data, where->n * 8ull);
}

static void misused(struct tstate *ts, enum ip_fd_event event, int fd) {
    if (rt_errors_are_off(ts)) return;
    struct fd_stack where;
    look_where(ts, &where);
    u64 gone = (u64)fd_note_gone(rt_th(ts)->files, fd);
    const struct ip_slot *s = tell(ts, event, (u32)fd, gone, where.frames, where.n * 8);
    if (s->r[0]) sys1(__NR_exit_group, (long)s->r[1]); /* --exit-on-first-error: the report is out */
}

/* path: the program's, by which it was opened; 0: none. */
static void note_here(struct tstate *ts, int fd, u64 path,
                      void (*note)(u32 files, int fd, const struct fd_text *, const struct fd_stack *)) {
    struct fd_text text;
    struct fd_stack where;
    if (!describe_opened(&text, path)) describe(&text, fd);
    look_where(ts, &where);
    note(rt_th(ts)->files, fd, &text, &where);
}

static int opened(struct tstate *ts, int fd) {
    note_here(ts, fd, 0, fd_note_opened);
    return fd;
}

/* Where the call has the path of what it opens. */
static u64 path_of(long nr, const u64 args[6]) {
    switch (nr) {
    case __NR_open:
    case __NR_creat: return args[0];
    case __NR_openat:
    case __NR_openat2: return args[1];
    default: return 0;
    }
}

static void closing(struct tstate *ts, int fd) { note_here(ts, fd, 0, fd_note_closing); }

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

static void inherited(struct tstate *ts, int fd, void *to) {
    (void)to;
    struct fd_text text;
    describe(&text, fd);
    fd_note_inherited(rt_th(ts)->files, fd, &text);
}

static void changed(struct tstate *ts, int fd, void *to) {
    (void)to;
    struct fd_text text;
    describe(&text, fd);
    fd_note_changed(rt_th(ts)->files, fd, &text);
}

struct list {
    u32 n;
    int numbers[NUMBERS];
};

static void send(struct tstate *ts, const struct list *l, bool more) {
    tell(ts, IP_FD_LEFT, more, 0, l->numbers, l->n * 4);
}

static void left(struct tstate *ts, int fd, void *to) {
    struct list *l = to;
    if (l->n == NUMBERS) {
        send(ts, l, true);
        l->n = 0;
    }
    l->numbers[l->n++] = fd;
    changed(ts, fd, NULL);
}

/* Of every descriptor; where the kernel does not list them, for want of /proc, of the first ones. */
static void see_all(struct tstate *ts, void (*seen)(struct tstate *ts, int fd, void *to), void *to) {
    if (each_open(ts, seen, to)) return;
    for (int fd = 0; fd < 1024; fd++)
        if (rt_fd_is_open(fd)) seen(ts, fd, to);
}

void rt_fds_begin(struct tstate *ts) {
    if (!(rt.flags & IP_C_TRACK_FDS)) return;
    see_all(ts, inherited, NULL);
    tell(ts, IP_FD_BEGIN, (u64)fd_notes(), 0, NULL, 0);
}

void rt_fds_end(struct tstate *ts) {
    if (!(rt.flags & IP_C_TRACK_FDS)) return;
    struct list *l = rt_pages(sizeof *l);
    see_all(ts, left, l);
    send(ts, l, false);
    rt_free_pages(l, sizeof *l);
}

u32 rt_fds_copied(struct tstate *ts) {
    static u32 last;
    if (!(rt.flags & IP_C_TRACK_FDS)) return 0;
    u32 to = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    fd_note_copy(rt_th(ts)->files, to);
    return to;
}

void rt_fds_dropped(u32 files) {
    if (files) fd_note_drop(files);
}

void rt_fds_fork_lock(bool take) { fd_notes_hold(take); }

/* ---- calls ---------------------------------------------------------------------------------- */

static void use(struct tstate *ts, int fd) {
    if (fd >= 0 && !rt_fd_is_open(fd)) misused(ts, IP_FD_UNKNOWN, fd);
}

struct range {
    u64 first, last;
};

static void close_in_range(struct tstate *ts, int fd, void *to) {
    const struct range *r = to;
    if ((u64)fd >= r->first && (u64)fd <= r->last) closing(ts, fd);
}

void rt_fds_before(struct tstate *ts, long nr, const struct rt_syscall_info *info, const u64 args[6]) {
    if (!(rt.flags & IP_C_TRACK_FDS)) return;
    int fd = (int)args[0];
    if (nr == __NR_close) {
        /* Noted before it happens, for at once another thread may get the number. */
        if (fd >= 0 && rt_fd_is_open(fd))
            closing(ts, fd);
        else if (fd >= 0)
            misused(ts, IP_FD_NO_MORE, fd);
        return;
    }
    if (nr == __NR_close_range) {
        struct range r = {(u32)args[0], (u32)args[1]};
        if (r.first > r.last || ((u32)args[2] & ~(u32)(CLOSE_RANGE_CLOEXEC | CLOSE_RANGE_UNSHARE))) return;
        if (args[2] & CLOSE_RANGE_UNSHARE) rt_th(ts)->files = rt_fds_copied(ts);
        if (!(args[2] & CLOSE_RANGE_CLOEXEC)) each_open(ts, close_in_range, &r);
        return;
    }
    const struct rt_syscall_described *d = rt_syscall_described(info);
    for (u32 i = 0; i < d->n; i++)
        if (rt_arg_is_used_fd(nr, d->args[i].kind, i, args)) use(ts, (int)args[i]);
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
    if (has_address(nr, result)) changed(ts, (int)args[0], NULL);
    u64 path = path_of(nr, args);
    if (result >= 0 && path)
        note_here(ts, (int)result, path, fd_note_opened);
    else if (result >= 0)
        result = fd_each_new(ts, nr, info, args, result, opened);
    return result;
}
