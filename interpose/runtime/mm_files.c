/* Code that changes through a descriptor: write(2) to a file of which a shared
 * mapping is executable, and to /proc/PID/mem, which goes through write
 * protection.  Neither faults.
 */
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/fcntl.h>

#include "mm.h"

static bool file_code; /* a shared mapping of a file has held code */
static bool mem_open;  /* a mem file was opened for writing */

void mm_note_file_code(const struct rt_seg *s) {
    if ((s->mflags & MM_SHARED) && s->kind == RT_SEG_FILE && (s->prot & PROT_EXEC)) file_code = true;
}

static bool ends_in_mem(const char *path, long n) {
    return n > 10 && rt_strncmp(path, "/proc/", 6) == 0 && rt_memcmp(path + n - 4, "/mem", 4) == 0;
}

static void opened(u64 path, u64 flags) {
    char text[64];
    if ((flags & O_ACCMODE) == O_RDONLY) return;
    long n = rt_strncpy_from(text, path, sizeof text);
    if (n > 0 && ends_in_mem(text, n)) __atomic_store_n(&mem_open, true, __ATOMIC_RELAXED);
}

static void written(struct tstate *ts, int fd) {
    char link[40], path[64];
    struct stat st;
    rt_snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long n = mem_open ? sys3(__NR_readlink, (long)link, (long)path, sizeof path) : 0;
    if (ends_in_mem(path, n)) {
        rt_invalidate_written(ts, 0, IP_CLIENT_END);
        return;
    }
    if (!file_code || sys2(__NR_fstat, fd, (long)&st) != 0) return;
    rt_mm_lock();
    for (u32 i = 0; i < rt_nsegs; i++) {
        const struct rt_seg *s = &rt_segs[i];
        if (s->kind == RT_SEG_FILE && (s->prot & PROT_EXEC) && s->dev == st.st_dev && s->ino == st.st_ino)
            rt_invalidate_written(ts, s->lo, s->hi - s->lo);
    }
    rt_mm_unlock();
}

void rt_files_after(struct tstate *ts, long nr, const u64 args[6]) {
    switch (nr) {
    case __NR_open: opened(args[0], args[1]); return;
    case __NR_openat: opened(args[1], args[2]); return;
    default: break;
    }
    if (!file_code && !mem_open) return;
    switch (nr) {
    case __NR_write:
    case __NR_writev:
    case __NR_pwrite64:
    case __NR_pwritev:
    case __NR_pwritev2:
    case __NR_sendfile:
    case __NR_ftruncate:
    case __NR_fallocate: written(ts, (int)args[0]); return;
    case __NR_copy_file_range:
    case __NR_splice: written(ts, (int)args[2]); return;
    default: return;
    }
}
