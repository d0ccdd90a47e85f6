/* Inside of the memory manager: the segment table, placing, and what must
 * happen when a mapping comes or goes.  Only mm*.c and loader.c include it.
 *
 * Everything here runs under rt_mm_lock.  The hooks it calls (rt_hook_*,
 * rt_invalidate, rt_request_python) therefore must not take that lock; the
 * table is already updated when a hook runs, and rt_segs may be read directly.
 */
#ifndef INTERPOSE_MM_H
#define INTERPOSE_MM_H

#include <linux/errno.h>
#include <linux/mman.h>

#include "runtime/seam.h"
#include "runtime/base/rt.h"

#define MM_MANY_SEGS 8192u /* below, vm.max_map_count is far (65530 by default) */

enum { /* rt_seg.mflags */
       MM_SHARED = 1,
       MM_LOW = 2,
       MM_GROWS = 4,
       MM_ANNOUNCED = 8,
       MM_OURS = 16,
       MM_OPEN = 32,   /* a private mapping of a file that this process can write to */
       MM_CLOSED = 64, /* mapped, at least in part, without any access, and not given one since */
       MM_SEALED = 128 /* by mseal: a mapping of its own, for calls that change several end there */
};

/* Code there may change without a fault of ours: another process, or a call that
 * writes to the file, does it. */
static inline bool mm_unnoticed(const struct rt_seg *s) { return (s->mflags & (MM_SHARED | MM_OPEN)) != 0; }

/* May the guest have memory there at all?  (Not our regions, not above the limit.) */
bool mm_allowed(u64 lo, u64 len);
bool mm_is_free(u64 lo, u64 hi);
/* What a call with a range where the guest may not have memory answers: the kernel's objection to the rest of it, or
 * that there is no memory. */
static inline long mm_refused(long nr, u64 lo, long how) {
    long valid = sys3(nr, (long)lo, 0, how);
    return valid < 0 ? valid : -ENOMEM;
}
/* Index of the first segment with hi > addr; rt_nsegs if none. */
u32 mm_first(u64 addr);
/* A free range, or 0.  Low: images, bottom-up.  High: top-down. */
u64 mm_place_low(u64 len, u64 align);
u64 mm_place_32bit(u64 len, u64 align); /* low even if images go elsewhere */
u64 mm_place_high(u64 len, u64 align);
void mm_place_init(void);
/* The gap below segment index has become larger. */
void mm_place_freed(u32 index);
u32 mm_intern_path(const char *path);
/* What the host gets: never executable (guest code does not run natively). */
static inline u32 mm_host_prot(u32 prot) {
    u32 host = prot & (PROT_READ | PROT_WRITE);
    return prot & PROT_EXEC ? host | PROT_READ : host;
}
/* A number for a shared anonymous object, as its ino. */
u64 mm_new_object(void);
/* limits.c: may the guest have so many bytes more (data: private and writable)? */
bool mm_within_limits(u64 more, u64 more_data);
/* May brk make a heap of so many bytes?  Asked also where it becomes smaller, as by the kernel. */
bool mm_heap_within_limit(u64 size);
/* Fill kind, dev, ino and path of a file mapping from its descriptor. */
void mm_file_identity(struct rt_seg *s, int fd);

/* mremap tells of the move itself (rt_hook_moved); everyone else lets these do it. */
enum mm_shadow { MM_WITH_SHADOW, MM_SHADOW_APART };
/* Host memory of s exists and its range is free in the table: record it, give
 * it a shadow, tell Python if it is code. */
void mm_added(struct tstate *ts, const struct rt_seg *s, enum mm_shadow shadow);
/* Host memory of [lo, hi) is gone or about to be replaced: drop translations,
 * shadow and table entries, tell Python. */
void mm_removed(struct tstate *ts, u64 lo, u64 hi, enum mm_shadow shadow);
/* Private anonymous memory is about to take the place of [lo, hi), before mm_removed: code that Python knows
 * there keeps its names and bindings, for programs move theirs to huge pages so.  True if there is some; the new
 * segment gets MM_ANNOUNCED then. */
bool mm_replaced(struct tstate *ts, u64 lo, u64 hi);
/* Tell Python that announced code of [lo, hi) has gone, or was replaced so. */
void mm_tell_unmapped(struct tstate *ts, u64 lo, u64 hi, bool replaced);
/* What is in [lo, hi) is sealed: the kernel refuses to change it from now on. */
void mm_sealed(u64 lo, u64 hi);
/* Unmap what the guest has in [lo, hi), and nothing else. */
long mm_unmap(struct tstate *ts, u64 lo, u64 hi);
/* Make addr a border between segments, so that pieces can be changed alone. */
void mm_split(u64 addr);
/* Join what can be joined around [lo, hi). */
void mm_join(u64 lo, u64 hi);
/* Tell Python about a segment (index) if it is file-backed code not announced yet. */
void mm_announce(struct tstate *ts, u32 index);

/* Pages of [lo, hi) that were write-protected for their translations: forget
 * them (true if there were any); restore also gives the host W back. */
bool mm_forget_code_pages(u64 lo, u64 hi, bool restore);
/* s can be written from now on: translations of other mappings of the same
 * pages are dropped, so that those made next are watched here, too. */
void mm_writable_alias(struct tstate *ts, const struct rt_seg *s);
/* Does the program map what s shows in another place, too, shared and writable? */
bool mm_written_elsewhere(const struct rt_seg *s);

/* mm_files.c: can this process write to the file of s, which it maps through fd? */
bool mm_file_is_open(const struct rt_seg *s, int fd);

extern u64 mm_bytes, mm_peak; /* that the guest has mapped, and had at most */
extern u64 mm_high_top;       /* mappings are placed below it */

/* Host memory at a free place chosen by us. */
static inline long mm_host_map(u64 addr, u64 len, u32 prot, u32 flags, int fd, u64 off) {
    return sys6(9 /* mmap */, (long)addr, (long)len, mm_host_prot(prot), flags, fd, (long)off);
}

#endif
