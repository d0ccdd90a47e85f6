/* Files under /proc that tell a process about itself: which one a descriptor or
 * a path is, and exe, which names our executable unless the kernel could be told
 * otherwise (identity.c).  What the others say: procfs.h.
 */
#include <asm/stat.h>
#include <asm/statfs.h>
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>

#include "runtime/syscalls/syscalls.h"
#include "runtime/loader/image.h"
#include "runtime/procfs/procfs.h"
#include "runtime/signals/sig.h"
#include "runtime/syscalls/syscall.h"

#define PATH_SIZE 4096

static const struct {
    const char *name;
    enum proc_leaf leaf;
} leaves[] = {
    {"fd", PROC_FD},
    {"fdinfo", PROC_FDINFO},
    {"map_files", PROC_MAP_FILES},
    {"maps", PROC_MAPS},
    {"smaps", PROC_SMAPS},
    {"smaps_rollup", PROC_SMAPS_ROLLUP},
    {"numa_maps", PROC_NUMA_MAPS},
    {"status", PROC_STATUS},
    {"stat", PROC_STAT},
    {"statm", PROC_STATM},
    {"limits", PROC_LIMITS},
    {"auxv", PROC_AUXV},
    {"cmdline", PROC_CMDLINE},
    {"environ", PROC_ENVIRON},
};

/* Digits before *end, which moves to the slash before them; false if there are none. */
static bool number_before(const char *path, u64 *end, u64 *value) {
    u64 i = *end, scale = 1;
    *value = 0;
    for (; i > 0 && path[i - 1] >= '0' && path[i - 1] <= '9' && scale < 1ull << 40; i--, scale *= 10)
        *value += (u64)(path[i - 1] - '0') * scale;
    if (i == *end || i == 0 || path[i - 1] != '/') return false;
    *end = i - 1;
    return true;
}

/* This process as the instance of /proc that is mounted counts. */
static u64 own_number(void) {
    char text[24];
    long n = sys3(__NR_readlink, (long)"/proc/self", (long)text, sizeof text - 1);
    u64 v = 0;
    for (long i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++) v = v * 10 + (u64)(text[i] - '0');
    return n > 0 ? v : (u64)sys0(__NR_getpid);
}

/* .../PID/leaf or .../PID/task/TID/leaf of this process. */
static struct proc_file parse(const char *path, u64 len) {
    struct proc_file f = {PROC_OTHER, 0};
    u64 slash = len, n;
    while (slash > 0 && path[slash - 1] != '/') slash--;
    for (u32 i = 0; i < sizeof leaves / sizeof *leaves; i++)
        if (slash > 0 && rt_strcmp(path + slash, leaves[i].name) == 0) f.leaf = leaves[i].leaf;
    if (f.leaf == PROC_OTHER) return f;
    u64 end = slash - 1;
    if (!number_before(path, &end, &n)) return (struct proc_file){PROC_OTHER, 0};
    if (end >= 5 && memcmp(path + end - 5, "/task", 5) == 0) {
        f.tid = (u32)n;
        end -= 5;
        if (!number_before(path, &end, &n)) return (struct proc_file){PROC_OTHER, 0};
    }
    return n == own_number() ? f : (struct proc_file){PROC_OTHER, 0};
}

struct proc_file proc_identify(int fd) {
    struct proc_file none = {PROC_OTHER, 0};
    struct statfs fs;
    char link[40], path[128];
    if (sys2(__NR_fstatfs, fd, (long)&fs) != 0 || fs.f_type != PROC_SUPER_MAGIC) return none;
    rt_snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long n = sys3(__NR_readlink, (long)link, (long)path, sizeof path - 1);
    if (n < 3 || n == sizeof path - 1) return none;
    path[n] = 0;
    return parse(path, (u64)n);
}

bool proc_is_text(enum proc_leaf leaf) {
    switch (leaf) {
    case PROC_OTHER:
    case PROC_EXE:
    case PROC_FD:
    case PROC_FDINFO:
    case PROC_MAP_FILES: return false;
    case PROC_AUXV:
    case PROC_CMDLINE:
    case PROC_ENVIRON: return !rt_told_kernel;
    default: return true;
    }
}

/* ---- exe -------------------------------------------------------------------------------- */

static char runtime_path[PATH_SIZE]; /* what the kernel says behind exe */

void rt_learn_own_exe(void) {
    long n = sys3(__NR_readlink, (long)"/proc/self/exe", (long)runtime_path, PATH_SIZE - 1);
    runtime_path[n > 0 ? n : 0] = 0;
}

/* The path leads to our executable through a link of /proc, not by its name. */
static bool by_magic_link(int dirfd, u64 path) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
    long fd = sys4(__NR_openat2, dirfd, (long)path, (long)&how, sizeof how);
    if (fd >= 0) sys1(__NR_close, fd);
    return fd < 0;
}

static bool same_file(const struct stat *a, int fd) {
    struct stat b;
    return sys2(__NR_fstat, fd, (long)&b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

bool rt_names_own_exe(int dirfd, u64 path) {
    char text[PATH_SIZE], target[PATH_SIZE];
    long n = rt_strncpy_from(text, path, sizeof text);
    if (n < 3 || memcmp(text + n - 3, "exe", 3) != 0 || (n > 3 && text[n - 4] != '/')) return false;
    long r = sys4(__NR_readlinkat, dirfd, (long)text, (long)target, PATH_SIZE - 1);
    if (r <= 0) return false;
    target[r] = 0;
    return rt_strcmp(target, rt_exe_is_programs ? rt.exe_path : runtime_path) == 0 && by_magic_link(dirfd, (u64)text);
}

/* The call as it is, or with the program's own path as argument n. */
static int folder(const u64 args[6], int n) { return n == 0 ? AT_FDCWD : (int)args[n - 1]; }

static long with_path(struct tstate *ts, int n, bool follows) {
    u64 args[6];
    rt_syscall_args(ts, args);
    if (follows && !rt_exe_is_programs && rt_names_own_exe(folder(args, n), args[n])) args[n] = (u64)rt.exe_path;
    return sig_wait_here(ts, (long)rt_th(ts)->syscall_nr, args);
}

long rt_sys_path0(struct tstate *ts) { return with_path(ts, 0, true); }
long rt_sys_path1(struct tstate *ts) { return with_path(ts, 1, true); }
long rt_sys_fstatat(struct tstate *ts) { return with_path(ts, 1, !(ts->gpr[IP_R10] & AT_SYMLINK_NOFOLLOW)); }
long rt_sys_statx(struct tstate *ts) { return with_path(ts, 1, !(ts->gpr[IP_RDX] & AT_SYMLINK_NOFOLLOW)); }

/* A descriptor of the link itself (O_PATH | O_NOFOLLOW), with an empty path. */
static bool is_exe_link(int dirfd, u64 path) {
    char link[40], text[64], target[PATH_SIZE];
    if (rt_copy_from(text, path, 1) != 0 || text[0] != 0) return false;
    rt_snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd);
    long n = sys3(__NR_readlink, (long)link, (long)text, sizeof text - 1);
    if (n < 5 || memcmp(text + n - 4, "/exe", 4) != 0) return false;
    n = sys4(__NR_readlinkat, dirfd, (long)"", (long)target, PATH_SIZE - 1);
    target[n > 0 ? n : 0] = 0;
    return n > 0 && rt_strcmp(target, runtime_path) == 0;
}

static long read_link(struct tstate *ts, int n) {
    u64 args[6];
    rt_syscall_args(ts, args);
    i64 room = (int)args[n + 2];
    if (rt_exe_is_programs || room <= 0 ||
        !(rt_names_own_exe(folder(args, n), args[n]) || is_exe_link(folder(args, n), args[n])))
        return sig_wait_here(ts, (long)rt_th(ts)->syscall_nr, args);
    u64 len = rt_strlen(rt.exe_path);
    if (len > (u64)room) len = (u64)room;
    return rt_copy_to(args[n + 1], rt.exe_path, len) != 0 ? -EFAULT : (long)len;
}

long rt_sys_readlink(struct tstate *ts) { return read_link(ts, 0); }
long rt_sys_readlinkat(struct tstate *ts) { return read_link(ts, 1); }

/* ---- open ----------------------------------------------------------------------------------- */

/* Our executable came, and not by its name: give the program's for it. */
static long swap_exe(int fd, u64 flags) {
    long other = sys4(__NR_openat, AT_FDCWD, (long)rt.exe_path, (long)(flags & ~(u64)(O_CREAT | O_EXCL)), 0);
    if (other < 0) return other;
    long r = sys3(__NR_dup3, other, fd, (long)(flags & O_CLOEXEC));
    sys1(__NR_close, other);
    return r;
}

/* Path is argument n. */
static long open_path(struct tstate *ts, int n, u64 flags) {
    u64 args[6];
    struct stat st;
    rt_syscall_args(ts, args);
    long fd = sig_wait_here(ts, (long)rt_th(ts)->syscall_nr, args);
    if (fd < 0 || sys2(__NR_fstat, fd, (long)&st) != 0) return fd;
    if (!rt_exe_is_programs && same_file(&st, rt.runtime_fd) && by_magic_link(folder(args, n), args[n]))
        return swap_exe((int)fd, flags);
    /* Files of /proc are empty and on no device. */
    if (st.st_size == 0 && st.st_dev >> 8 == 0 && !(flags & O_PATH)) proc_opened((int)fd);
    return fd;
}

long rt_sys_open(struct tstate *ts) { return open_path(ts, 0, ts->gpr[IP_RSI]); }
long rt_sys_openat(struct tstate *ts) { return open_path(ts, 1, ts->gpr[IP_RDX]); }

long rt_sys_openat2(struct tstate *ts) {
    u64 how[3]; /* struct open_how: flags, mode, resolve */
    if (rt_copy_from(how, ts->gpr[IP_RDX], sizeof how) != 0) how[0] = 0;
    return open_path(ts, 1, how[0]);
}
