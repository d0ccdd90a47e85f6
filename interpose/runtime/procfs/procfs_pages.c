/* What the program's mappings use, by their pages: programs that watch themselves read statm and status again and
 * again, and the kernel's text of all mappings has ours, too, which are many and large.
 */
#include <asm/unistd.h>
#include <linux/fcntl.h>

#include "runtime/memory/memory.h"
#include "runtime/memory/mm.h"
#include "runtime/procfs/procfs.h"

/* PAGEMAP_SCAN (Linux 6.7), which headers of older systems do not have. */
struct scan {
    u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
    u64 category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct region {
    u64 start, end, categories;
};
#define PAGEMAP_SCAN 0xc0606610 /* _IOWR('f', 16, struct scan) */
#define IS_FILE      4u
#define IS_PRESENT   8u
#define IS_ZERO_PAGE 32u
#define IS_HUGE      64u
#define REGIONS      64

static bool is_shared(const struct rt_seg *s) { return (s->mflags & MM_SHARED) != 0; }

static bool is_like(const struct rt_seg *s, const struct rt_seg *other) {
    return !(other->mflags & MM_OURS) && is_shared(s) == is_shared(other) &&
           proc_mapping_is_shmem(s) == proc_mapping_is_shmem(other);
}

/* Add the pages from s on to hi, of mappings like s; false if they cannot be told. */
static bool add_pages(long fd, const struct rt_seg *s, u64 hi, struct proc_usage *u) {
    bool shared = is_shared(s), shmem = proc_mapping_is_shmem(s);
    struct region found[REGIONS];
    struct scan scan = {.size = sizeof scan,
                        .start = s->lo,
                        .end = hi,
                        .vec = (u64)found,
                        .vec_len = REGIONS,
                        .category_inverted = IS_ZERO_PAGE,
                        .category_mask = IS_PRESENT | IS_ZERO_PAGE,
                        .return_mask = IS_FILE | IS_HUGE};
    while (scan.start < hi) {
        long n = sys3(__NR_ioctl, fd, PAGEMAP_SCAN, (long)&scan);
        if (n < 0) return false;
        for (long i = 0; i < n; i++) {
            u64 kb = (found[i].end - found[i].start) >> 10;
            bool is_file = (found[i].categories & IS_FILE) != 0;
            /* The huge page of zeros looks like any other, and is nobody's. */
            if (!is_file && (found[i].categories & IS_HUGE)) return false;
            if (!is_file && (shared || shmem)) continue; /* a device's */
            u->rss += kb;
            *(!is_file ? &u->anon : shmem ? &u->shmem : &u->file) += kb;
        }
        if (scan.walk_end <= scan.start) return false;
        scan.start = scan.walk_end;
    }
    return true;
}

bool proc_usage(struct proc_usage *u) {
    long fd = sys4(__NR_openat, AT_FDCWD, (long)"/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
    bool ok = fd >= 0;
    *u = (struct proc_usage){0, 0, 0, 0};
    rt_mm_lock();
    for (u32 i = 0, next; i < rt_nsegs && ok; i = next) {
        const struct rt_seg *s = &rt_segs[i];
        next = i + 1;
        if (s->mflags & MM_OURS) continue;
        while (next < rt_nsegs && is_like(s, &rt_segs[next]) && rt_segs[next].lo == rt_segs[next - 1].hi) next++;
        ok = add_pages(fd, s, rt_segs[next - 1].hi, u);
    }
    rt_mm_unlock();
    if (fd >= 0) sys1(__NR_close, fd);
    return ok || proc_usage_by_text(u);
}
