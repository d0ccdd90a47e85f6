/* Files under /proc that tell a process about itself and would tell about us:
 * exe (our executable instead of the program); maps, smaps and status (our
 * mappings and handlers, code without its x bit: procfs_text.c); and, where the
 * kernel does not take our word for them (identity.c), cmdline, environ, auxv.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/memfd.h>
#include <linux/resource.h>

#include "image.h"
#include "procfs.h"
#include "syscall.h"

/* A decimal id of ours, then '/'; advances over it. */
static bool own_id(const char **p, u64 id) {
    u64 n = 0;
    const char *s = *p;
    for (; *s >= '0' && *s <= '9' && n < (1ull << 32); s++)
        n = n * 10 + (u64)(*s - '0');
    if (s == *p || *s != '/' || n != id)
        return false;
    *p = s;
    return true;
}

static bool skip(const char **p, const char *prefix) {
    size_t n = rt_strlen(prefix);
    if (rt_strncmp(*p, prefix, n) != 0)
        return false;
    *p += n;
    return true;
}

static const struct {
    const char *name;
    enum proc_leaf leaf;
} leaves[] = {
    {"exe", PROC_EXE}, {"fd", PROC_FD}, {"maps", PROC_MAPS}, {"smaps", PROC_SMAPS}, {"status", PROC_STATUS},
    {"auxv", PROC_AUXV}, {"cmdline", PROC_CMDLINE}, {"environ", PROC_ENVIRON},
};

static enum proc_leaf leaf_of(const char *name) {
    for (u32 i = 0; i < sizeof leaves / sizeof *leaves; i++)
        if (rt_strcmp(name, leaves[i].name) == 0)
            return leaves[i].leaf;
    return PROC_OTHER;
}

static bool leaf_first(char c) {
    for (u32 i = 0; i < sizeof leaves / sizeof *leaves; i++)
        if (leaves[i].name[0] == c)
            return true;
    return false;
}

/* /proc/{self,PID,thread-self}[/task/TID]/leaf of this process. */
static enum proc_leaf classify(const char *p) {
    if (!skip(&p, "/proc/"))
        return PROC_OTHER;
    if (!skip(&p, "self/") && !skip(&p, "thread-self/")) {
        if (!own_id(&p, (u64)sys0(__NR_getpid)))
            return PROC_OTHER;
        p++;
    }
    if (skip(&p, "task/")) {
        u64 n = 0;
        const char *s = p;
        for (; *s >= '0' && *s <= '9' && n < (1ull << 32); s++)
            n = n * 10 + (u64)(*s - '0');
        /* Signal 0: does the thread belong to this process? */
        if (s == p || *s != '/' || sys3(__NR_tgkill, sys0(__NR_getpid), (long)n, 0) != 0)
            return PROC_OTHER;
        p = s + 1;
    }
    return leaf_of(p);
}

bool rt_is_proc_exe(const char *path) { return classify(path) == PROC_EXE; }
bool rt_is_proc_fd(const char *path) { return classify(path) == PROC_FD; }

/* dirfd: of a relative path. */
static enum proc_leaf classify_guest(u64 path, int dirfd) {
    char buf[96], from[96], link[40];
    /* Nearly every path fails on its first bytes; those may end a mapping. */
    if (rt_copy_from(buf, path, 1) != 0 || (buf[0] != '/' && !leaf_first(buf[0])) ||
        rt_strncpy_from(buf, path, sizeof buf) < 0)
        return PROC_OTHER;
    if (buf[0] == '/')
        return classify(buf);
    if (leaf_of(buf) == PROC_OTHER)
        return PROC_OTHER;
    if (dirfd == AT_FDCWD)
        rt_snprintf(link, sizeof link, "/proc/self/cwd");
    else
        rt_snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd);
    long n = sys3(__NR_readlink, (long)link, (long)from, sizeof from / 2);
    if (n <= 0 || n == sizeof from / 2)
        return PROC_OTHER;
    rt_snprintf(from + n, sizeof from - (u64)n, "/%s", buf);
    return classify(from);
}

/* The call as it is, or with the program's own path as argument n. */
static int folder(const u64 args[6], int n) { return n == 0 ? AT_FDCWD : (int)args[n - 1]; }

static long with_path(struct tstate *ts, int n, bool follows) {
    u64 args[6];
    rt_syscall_args(ts, args);
    if (follows && classify_guest(args[n], folder(args, n)) == PROC_EXE)
        args[n] = (u64)rt.exe_path;
    return rt_kernel(rt_th(ts), (long)rt_th(ts)->syscall_nr, args);
}

long rt_sys_path0(struct tstate *ts) { return with_path(ts, 0, true); }
long rt_sys_path1(struct tstate *ts) { return with_path(ts, 1, true); }
long rt_sys_fstatat(struct tstate *ts) {
    return with_path(ts, 1, !(ts->gpr[IP_R10] & AT_SYMLINK_NOFOLLOW));
}
long rt_sys_statx(struct tstate *ts) {
    return with_path(ts, 1, !(ts->gpr[IP_RDX] & AT_SYMLINK_NOFOLLOW));
}

/* ---- readlink --------------------------------------------------------------------------- */

static long read_link(struct tstate *ts, int n) {
    u64 args[6];
    rt_syscall_args(ts, args);
    if (classify_guest(args[n], folder(args, n)) != PROC_EXE)
        return rt_kernel(rt_th(ts), (long)rt_th(ts)->syscall_nr, args);
    i64 room = (int)args[n + 2];
    if (room <= 0)
        return -EINVAL;
    u64 len = rt_strlen(rt.exe_path);
    if (len > (u64)room)
        len = (u64)room;
    return rt_copy_to(args[n + 1], rt.exe_path, len) != 0 ? -EFAULT : (long)len;
}

long rt_sys_readlink(struct tstate *ts) { return read_link(ts, 0); }
long rt_sys_readlinkat(struct tstate *ts) { return read_link(ts, 1); }

/* ---- files that we write ourselves --------------------------------------------------------- */

static bool write_fully(int fd, const char *p, u64 n) {
    while (n > 0) {
        long w = sys3(__NR_write, fd, (long)p, (long)n);
        if (w <= 0 && w != -EINTR)
            return false;
        if (w > 0)
            p += w, n -= (u64)w;
    }
    return true;
}

/* A file with the text; negative: leave it to the kernel. */
static long open_text(const char *name, const char *text, u64 len, u64 flags) {
    struct rlimit64 limit;
    /* A longer write would be answered by SIGXFSZ. */
    if (sys4(__NR_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit) == 0 && limit.rlim_cur < len)
        return -EFBIG;
    long fd = sys2(__NR_memfd_create, (long)name, flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
    if (fd < 0)
        return fd;
    if (!write_fully((int)fd, text, len)) {
        sys1(__NR_close, fd);
        return -EIO;
    }
    sys3(__NR_lseek, fd, 0, 0);
    return fd;
}

static bool is_text(enum proc_leaf what) {
    switch (what) {
    case PROC_MAPS:
    case PROC_SMAPS:
    case PROC_STATUS: return true;
    case PROC_AUXV:
    case PROC_CMDLINE:
    case PROC_ENVIRON: return !rt_told_kernel;
    default: return false;
    }
}

static long open_synthetic(struct tstate *ts, enum proc_leaf what, u64 flags) {
    struct proc_text t = {0};
    long fd;
    switch (what) {
    case PROC_AUXV:
        return open_text("auxv", (const char *)rt_auxv, rt_auxv_words * sizeof *rt_auxv, flags);
    case PROC_CMDLINE:
        return open_text("cmdline", (const char *)rt.arg_start, rt.arg_end - rt.arg_start, flags);
    case PROC_ENVIRON:
        return open_text("environ", (const char *)rt.arg_end, rt.env_end - rt.arg_end, flags);
    default:
        fd = proc_text(ts, what, &t) ? open_text("maps", t.at, t.len, flags) : -EIO;
        proc_text_free(&t);
        return fd;
    }
}

/* Path is argument n; flags as open(2) understands them. */
static long open_path(struct tstate *ts, int n, u64 flags) {
    u64 args[6];
    rt_syscall_args(ts, args);
    enum proc_leaf what = classify_guest(args[n], folder(args, n));
    if (is_text(what) && (flags & O_ACCMODE) == O_RDONLY && !(flags & O_PATH)) {
        long fd = open_synthetic(ts, what, flags);
        if (fd >= 0 || fd == -EMFILE || fd == -ENFILE)
            return fd;
    }
    if (what == PROC_EXE && !(flags & O_NOFOLLOW))
        args[n] = (u64)rt.exe_path;
    return rt_kernel(rt_th(ts), (long)rt_th(ts)->syscall_nr, args);
}

long rt_sys_open(struct tstate *ts) { return open_path(ts, 0, ts->gpr[IP_RSI]); }
long rt_sys_openat(struct tstate *ts) { return open_path(ts, 1, ts->gpr[IP_RDX]); }

long rt_sys_openat2(struct tstate *ts) {
    u64 how[3]; /* struct open_how: flags, mode, resolve */
    u64 plain = O_NOFOLLOW | O_PATH; /* unreadable or restricted: leave it to the kernel */
    if (rt_copy_from(how, ts->gpr[IP_RDX], sizeof how) == 0 && how[2] == 0)
        plain = how[0];
    return open_path(ts, 1, plain);
}
