/* Files under /proc that tell a process about itself and would tell about us:
 * exe (our executable instead of the program), maps (our mappings, and code
 * without its x bit), auxv (the runtime's).
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/memfd.h>

#include "image.h"
#include "mm.h"
#include "syscall.h"

#define LINE_MAX_ (4096 + 128)

enum leaf { OTHER, EXE, MAPS, AUXV };

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

/* /proc/{self,PID,thread-self}[/task/TID]/leaf of this process. */
static enum leaf classify(const char *p) {
    if (!skip(&p, "/proc/"))
        return OTHER;
    if (!skip(&p, "self/") && !skip(&p, "thread-self/")) {
        if (!own_id(&p, (u64)sys0(__NR_getpid)))
            return OTHER;
        p++;
    }
    if (skip(&p, "task/")) {
        u64 n = 0;
        const char *s = p;
        for (; *s >= '0' && *s <= '9' && n < (1ull << 32); s++)
            n = n * 10 + (u64)(*s - '0');
        /* Signal 0: does the thread belong to this process? */
        if (s == p || *s != '/' || sys3(__NR_tgkill, sys0(__NR_getpid), (long)n, 0) != 0)
            return OTHER;
        p = s + 1;
    }
    if (rt_strcmp(p, "exe") == 0)
        return EXE;
    if (rt_strcmp(p, "maps") == 0)
        return MAPS;
    return rt_strcmp(p, "auxv") == 0 ? AUXV : OTHER;
}

bool rt_is_proc_exe(const char *path) { return classify(path) == EXE; }

static enum leaf classify_guest(u64 path) {
    char buf[96];
    /* Nearly every path fails on its first bytes; those may end a mapping. */
    if (rt_copy_from(buf, path, 1) != 0 || buf[0] != '/' || rt_strncpy_from(buf, path, sizeof buf) < 0)
        return OTHER;
    return classify(buf);
}

/* The call as it is, or with the program's own path as argument n. */
static long with_path(struct tstate *ts, int n, bool follows) {
    u64 args[6];
    rt_syscall_args(ts, args);
    if (follows && classify_guest(args[n]) == EXE)
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
    if (classify_guest(args[n]) != EXE)
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

/* One line of /proc/PID/maps, proc_pid_maps(5): the name begins at column 73. */
static u64 maps_line(char *out, const struct rt_seg *s) {
    const char *name = s->kind == RT_SEG_STACK ? "[stack]"
                       : s->kind == RT_SEG_BRK ? "[heap]"
                       : s->path               ? rt_paths + s->path
                       : s->kind == RT_SEG_SHM ? "/SYSV00000000 (deleted)"
                                               : "";
    bool file = s->kind == RT_SEG_FILE || s->kind == RT_SEG_SHM;
    u64 major = file ? s->dev >> 8 & 0xfff : 0;
    u64 minor = file ? (s->dev & 0xff) | (s->dev >> 12 & 0xfff00) : 0;
    if (s->kind == RT_SEG_SHM)
        major = 0, minor = 1;
    u64 n = (u64)rt_snprintf(out, LINE_MAX_, "%08lx-%08lx %c%c%c%c %08lx %02lx:%02lx %lu ", s->lo, s->hi,
                             s->prot & PROT_READ ? 'r' : '-', s->prot & PROT_WRITE ? 'w' : '-',
                             s->prot & PROT_EXEC ? 'x' : '-', s->mflags & MM_SHARED ? 's' : 'p',
                             file ? s->off : 0, major, minor, file ? s->ino : 0);
    if (*name)
        while (n < 73)
            out[n++] = ' ';
    return n + (u64)rt_snprintf(out + n, LINE_MAX_ - n, "%s\n", name);
}

static bool write_maps(int fd) {
    char *text;
    u64 len = 0, size;
    rt_mm_lock();
    size = (u64)(rt_nsegs + 1) * LINE_MAX_; /* reserved, not used up */
    text = rt_pages(size);
    for (u32 i = 0; i < rt_nsegs; i++)
        len += maps_line(text + len, &rt_segs[i]);
    rt_mm_unlock();
    bool ok = write_fully(fd, text, len);
    rt_free_pages(text, size);
    return ok;
}

static long open_synthetic(enum leaf what, u64 flags) {
    long fd = sys2(__NR_memfd_create, (long)(what == MAPS ? "maps" : "auxv"),
                   flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
    if (fd < 0)
        return fd;
    bool ok = what == MAPS ? write_maps((int)fd)
                           : write_fully((int)fd, (const char *)rt_auxv, rt_auxv_words * sizeof *rt_auxv);
    if (!ok) {
        sys1(__NR_close, fd);
        return -EIO;
    }
    sys3(__NR_lseek, fd, 0, 0);
    return fd;
}

/* Path is argument n; flags as open(2) understands them. */
static long open_path(struct tstate *ts, int n, u64 flags) {
    u64 args[6];
    rt_syscall_args(ts, args);
    enum leaf what = classify_guest(args[n]);
    if ((what == MAPS || what == AUXV) && (flags & O_ACCMODE) == O_RDONLY && !(flags & O_PATH))
        return open_synthetic(what, flags);
    if (what == EXE && !(flags & O_NOFOLLOW))
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
