/* PROCMAP_QUERY on maps of the guest (linux/fs.h): the kernel says what it accepts, and of a file its page
 * size and build id; which mapping it is, and what that one is like, says the table.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/limits.h>

#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/loader/image.h"
#include "runtime/memory/mm.h"
#include "runtime/procfs/procfs.h"

/* As of Linux 6.11; what later ones append, this kernel refuses or we leave alone. */
struct query {
    u64 size, flags, addr;
    u64 start, end, vma_flags, page_size, offset, inode;
    u32 major, minor, name_size, build_id_size;
    u64 name, build_id;
};
_Static_assert(sizeof(struct query) == (PROCMAP_QUERY_ >> 16 & 0x3fff), "struct procmap_query");

enum { READABLE = 1, WRITABLE = 2, EXECUTABLE = 4, SHARED = 8, COVERING_OR_NEXT = 0x10, FILE_BACKED = 0x20 };

static u32 kind_of(const struct rt_seg *s) {
    return (s->prot & PROT_READ ? READABLE : 0) | (s->prot & PROT_WRITE ? WRITABLE : 0) |
           (s->prot & PROT_EXEC ? EXECUTABLE : 0) | (s->mflags & MM_SHARED ? SHARED : 0);
}

/* The one that covers the address, or the first behind it; its beginning as it is shown. */
static bool find(const struct query *q, struct rt_seg *s) {
    u64 wanted = q->flags & (READABLE | WRITABLE | EXECUTABLE | SHARED);
    for (u64 at = q->addr; rt_next_seg(at, s); at = s->hi) {
        s->lo = rt_stack_shown(s);
        bool right = !(s->mflags & MM_OURS) && (kind_of(s) & wanted) == wanted &&
                     (!(q->flags & FILE_BACKED) || proc_mapping_has_file(s));
        if (right && (s->lo <= q->addr || q->flags & COVERING_OR_NEXT)) return true;
        if (!(q->flags & COVERING_OR_NEXT) && !(s->mflags & MM_OURS)) return false;
    }
    return false;
}

static long describe(int fd, struct query *q, const struct rt_seg *s) {
    const char *name = proc_mapping_name(s);
    struct query kernel = {.size = sizeof kernel, .addr = s->lo, .page_size = RT_PAGE};
    kernel.build_id = q->build_id, kernel.build_id_size = q->build_id_size;
    long r = sys3(__NR_ioctl, fd, PROCMAP_QUERY_, (long)&kernel);
    if (r < 0 && r != -ENOENT) return r;
    bool file = proc_mapping_has_file(s);
    q->start = s->lo, q->end = s->hi, q->vma_flags = kind_of(s), q->page_size = kernel.page_size;
    q->offset = file ? s->off : 0, q->inode = kernel.inode, q->major = kernel.major, q->minor = kernel.minor;
    q->build_id_size = r < 0 ? 0 : kernel.build_id_size;
    if (s->kind == RT_SEG_FILE) /* also where a page of ours has taken its place */
        q->inode = s->ino, q->major = proc_major(s->dev), q->minor = proc_minor(s->dev);
    if (q->name_size == 0) return 0;
    u64 room = q->name_size < PATH_MAX ? q->name_size : PATH_MAX, len = *name ? rt_strlen(name) + 1 : 0;
    if (len > room) return -ENAMETOOLONG;
    q->name_size = (u32)len;
    return rt_copy_to(q->name, name, len) != 0 ? -EFAULT : 0;
}

long proc_maps_query(int fd, u64 at) {
    union {
        struct query q;
        u8 bytes[RT_PAGE];
    } given;
    struct query *q = &given.q;
    struct rt_seg s;
    u64 size;
    if (rt_copy_from(&size, at, sizeof size) != 0 || size < offsetof(struct query, start) || size > sizeof given ||
        rt_copy_from(q, at, size) != 0)
        return sys3(__NR_ioctl, fd, PROCMAP_QUERY_, (long)at); /* which error that is */
    if (size < sizeof *q) memset(given.bytes + size, 0, sizeof *q - size);
    q->size = size;
    u64 addr = q->addr;
    q->addr = ~0ull; /* where nothing is: is the rest acceptable? */
    long r = sys3(__NR_ioctl, fd, PROCMAP_QUERY_, (long)q);
    q->addr = addr;
    if (r != -ENOENT || !find(q, &s)) return r;
    r = describe(fd, q, &s);
    if (r == 0 && rt_copy_to(at, q, size < sizeof *q ? size : sizeof *q) != 0) r = -EFAULT;
    return r;
}
