/* Code that changes through a descriptor: files that this process can write to,
 * /proc/PID/mem, which goes through write protection, and a tracer.  None of
 * them faults.
 */
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>
#include <linux/membarrier.h>

#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/syscalls/syscalls.h"
#include "runtime/memory/mm.h"

#define OPENED    64u
#define FILE_TYPE 0170000
#define REGULAR   0100000
#define TRACEME   0 /* PTRACE_TRACEME */

static bool mem_open; /* a mem file was opened for writing */

/* Files opened for writing lately; under the lock of the table. */
static struct {
    u64 dev, ino;
} opened[OPENED];
static u32 opened_at;

static bool can_write(int fd) {
    long flags = sys3(__NR_fcntl, fd, F_GETFL, 0);
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

static bool was_opened(u64 dev, u64 ino) {
    for (u32 i = 0; i < OPENED; i++)
        if (opened[i].ino == ino && opened[i].dev == dev) return true;
    return false;
}

/* Has this process a descriptor with which it can write to the file? */
static bool still_open(u64 dev, u64 ino) {
    u8 names[2048];
    bool found = false;
    long dir = sys4(__NR_openat, AT_FDCWD, (long)"/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (dir < 0) return true; /* nobody can tell */
    for (long n; !found && (n = sys3(__NR_getdents64, dir, (long)names, sizeof names)) > 0;)
        for (long at = 0; at < n && !found;) {
            const u8 *entry = names + at; /* struct linux_dirent64: ino, off, reclen, type, name */
            u16 len;
            int fd = 0;
            struct stat st;
            memcpy(&len, entry + 16, sizeof len);
            for (const u8 *c = entry + 19; *c >= '0' && *c <= '9'; c++) fd = fd * 10 + (*c - '0');
            found = entry[19] >= '0' && entry[19] <= '9' && sys2(__NR_fstat, fd, (long)&st) == 0 && st.st_dev == dev &&
                    st.st_ino == ino && can_write(fd);
            at += len;
        }
    sys1(__NR_close, dir);
    return found;
}

bool mm_file_is_open(const struct rt_seg *s, int fd) {
    return can_write(fd) || (was_opened(s->dev, s->ino) && still_open(s->dev, s->ino));
}

/* This process's memory: a debugger writes to that of others all the time. */
static bool is_mem(const char *path, long n) {
    return n > 10 && rt_strncmp(path, "/proc/", 6) == 0 && memcmp(path + n - 4, "/mem", 4) == 0;
}

static bool is_own_mem(const char *path, long n) {
    char self[16];
    if (!is_mem(path, n)) return false;
    long k = sys3(__NR_readlink, (long)"/proc/self", (long)self, sizeof self); /* by that mount's numbers */
    return k > 0 && k < n - 6 && memcmp(path + 6, self, (u64)k) == 0 && path[6 + k] == '/';
}

static bool is_mem_file(int fd) {
    char link[40], path[64];
    rt_snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long n = sys3(__NR_readlink, (long)link, (long)path, sizeof path);
    bool own = is_own_mem(path, n);
    if (!own && is_mem(path, n)) rt_may_write_others(0);
    return own;
}

/* Opened for writing: private code that shows the file compares its bytes from now on. */
static void note_opened(struct tstate *ts, int fd) {
    struct stat st;
    if (sys2(__NR_fstat, fd, (long)&st) != 0 || (st.st_mode & FILE_TYPE) != REGULAR) return;
    if (!mem_open && st.st_size == 0 && is_mem_file(fd)) {
        __atomic_store_n(&mem_open, true, __ATOMIC_RELAXED);
        return;
    }
    rt_mm_lock();
    if (!was_opened(st.st_dev, st.st_ino)) {
        opened[opened_at].dev = st.st_dev;
        opened[opened_at].ino = st.st_ino;
        opened_at = (opened_at + 1) % OPENED;
    }
    for (u32 i = 0; i < rt_nsegs; i++) {
        struct rt_seg *s = &rt_segs[i];
        if (s->kind != RT_SEG_FILE || (s->mflags & (MM_SHARED | MM_OPEN)) || s->dev != st.st_dev || s->ino != st.st_ino)
            continue;
        s->mflags |= MM_OPEN;
        if (s->prot & PROT_EXEC) rt_invalidate(ts, s->lo, s->hi - s->lo);
    }
    rt_mm_unlock();
}

static void opened_by(struct tstate *ts, u64 flags, long fd) {
    if ((flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH)) note_opened(ts, (int)fd);
}

void rt_files_after(struct tstate *ts, long nr, const u64 args[6], long result) {
    u64 flags = 0;
    switch (nr) {
    case __NR_open: opened_by(ts, args[1], result); return;
    case __NR_openat: opened_by(ts, args[2], result); return;
    case __NR_creat:
    case __NR_memfd_create: opened_by(ts, O_WRONLY, result); return;
    case __NR_openat2: /* struct open_how begins with the flags */
        if (rt_copy_from(&flags, args[2], sizeof flags) == 0) opened_by(ts, flags, result);
        return;
    case __NR_process_vm_writev: rt_may_write_others((u32)args[0]); return;
    case __NR_ptrace:
        /* A child of vfork will soon leave this memory for good, and its tracer is this very program: what that
         * writes there is noticed. A debugger would compare the bytes of all its code for the rest of its life. */
        if (args[0] == TRACEME && !rt_th(ts)->vfork_child) rt_invalidate_traced(ts);
        return;
    case __NR_membarrier: /* the other threads begin with new code: blocks are left */
        if (args[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) rt_leave_blocks(ts);
        return;
    case __NR_write:
    case __NR_writev:
    case __NR_pwrite64:
    case __NR_pwritev:
    case __NR_pwritev2:
    case __NR_sendfile:
        if (mem_open && is_mem_file((int)args[0])) rt_invalidate_written(ts, 0, rt_client_end());
        return;
    case __NR_splice:
        if (mem_open && is_mem_file((int)args[2])) rt_invalidate_written(ts, 0, rt_client_end());
        return;
    default: return;
    }
}
