/* The segment table: which address belongs to which guest mapping, and the
 * duties when one comes or goes (see mm.h).
 *
 * A sorted array: look-ups are frequent (slow paths, leak search from the
 * supervisor, which reads the array as it is).  A change moves what lies on the
 * shorter side of it, so there is room at both ends: most mappings come below
 * all others, or go from there.
 */
#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/mman.h>
#include <linux/personality.h>

#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/hooks.h"
#include "runtime/memory/mm.h"

#define MAX_SEGS     (1u << 18) /* four times the kernel's default vm.max_map_count */
#define PATH_BYTES   (64ull << 20)
#define PATH_BUCKETS 1024u

struct rt_seg *rt_segs;
u32 rt_nsegs;
char *rt_paths;
u64 rt_task_end = (1ull << 47) - RT_PAGE;

u64 mm_bytes, mm_peak;

static rt_lock_t mm_lock;
static u32 paths_used = 1; /* offset 0 means "none" */
static u32 path_heads[PATH_BUCKETS];

/* What the supervisor finds at rt_symbols[IP_SYM_SEGMENTS]. */
static struct rt_seg_table published;

static struct rt_seg *room; /* for twice as many segments as there may be */
#define ROOM (2u * MAX_SEGS)

static void begin_at(struct rt_seg *first) {
    rt_segs = first;
    published.segments = (u64)first;
}

void rt_mm_lock(void) { rt_lock(&mm_lock); }
void rt_mm_unlock(void) { rt_unlock(&mm_lock); }

/* Only a hint above 47 bits gets memory there, and only where there is any. */
static void find_task_end(void) {
    u64 hint = rt_task_end + RT_PAGE;
    long at = sys6(__NR_mmap, (long)hint, RT_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at < 0) return;
    sys2(__NR_munmap, at, RT_PAGE);
    if ((u64)at >= hint) rt_task_end = (1ull << 56) - RT_PAGE;
}

void rt_mm_init(struct tstate *ts) {
    (void)ts;
    find_task_end();
    room = rt_pages((u64)ROOM * sizeof *room);
    rt_paths = rt_pages(PATH_BYTES);
    rt_nsegs = 0;
    published = (struct rt_seg_table){0, (u64)&rt_nsegs, (u64)rt_paths, (u64)&rt.brk_start};
    begin_at(room + ROOM / 2);
    rt.chan->rt_symbols[IP_SYM_SEGMENTS] = (u64)&published;
    rt.brk_start = rt_is_bare() ? IP_BRK_BARE : IP_CLIENT_LO;
    rt.no_randomize = (sys1(__NR_personality, 0xffffffff) & ADDR_NO_RANDOMIZE) != 0;
    mm_place_init();
}

/* ---- look-up and placing -------------------------------------------------------- */

u32 mm_first(u64 addr) {
    u32 lo = 0, hi = rt_nsegs;
    while (lo < hi) {
        u32 mid = lo + (hi - lo) / 2;
        if (rt_segs[mid].hi > addr)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

bool rt_next_seg(u64 addr, struct rt_seg *out) {
    rt_mm_lock();
    u32 i = mm_first(addr);
    bool found = i < rt_nsegs;
    if (found) *out = rt_segs[i];
    rt_mm_unlock();
    return found;
}

bool rt_find_seg(u64 addr, struct rt_seg *out) {
    rt_mm_lock();
    u32 i = mm_first(addr);
    bool found = i < rt_nsegs && rt_segs[i].lo <= addr;
    if (found) *out = rt_segs[i];
    rt_mm_unlock();
    return found;
}

bool rt_find_code(u64 addr, u64 range[2]) {
    rt_mm_lock();
    u32 i = mm_first(addr), k = i;
    bool found = i < rt_nsegs && rt_segs[i].lo <= addr && (rt_segs[i].prot & PROT_EXEC);
    if (found) {
        while (k > 0 && rt_segs[k - 1].hi == rt_segs[k].lo && (rt_segs[k - 1].prot & PROT_EXEC)) k--;
        while (i + 1 < rt_nsegs && rt_segs[i + 1].lo == rt_segs[i].hi && (rt_segs[i + 1].prot & PROT_EXEC)) i++;
        range[0] = rt_segs[k].lo;
        range[1] = rt_segs[i].hi;
    }
    rt_mm_unlock();
    return found;
}

bool mm_is_free(u64 lo, u64 hi) {
    u32 i = mm_first(lo);
    return i >= rt_nsegs || rt_segs[i].lo >= hi;
}

bool mm_allowed(u64 lo, u64 len) {
    u64 hi = lo + len;
    if (hi < lo || hi > rt_client_end()) return false;
    if (lo < IP_LOW_END) return hi <= IP_IMAGES_HI || (lo >= IP_LEFT_LO && hi <= IP_LEFT_HI);
    return hi <= IP_OWN_BASE || lo >= IP_OWN_END;
}

/* ---- paths ------------------------------------------------------------------------ */

/* Entry in rt_paths: u32 offset of the next path in the bucket, then the text.
 * Offsets handed out point at the text. */
u32 mm_intern_path(const char *path) {
    u32 hash = 2166136261u;
    size_t len = rt_strlen(path) + 1;
    for (size_t i = 0; i < len; i++) hash = (hash ^ (u8)path[i]) * 16777619u;
    u32 *head = &path_heads[hash % PATH_BUCKETS];
    u32 next;
    for (u32 at = *head; at != 0; at = next) {
        if (rt_strcmp(rt_paths + at, path) == 0) return at;
        memcpy(&next, rt_paths + at - sizeof next, sizeof next);
    }
    if (paths_used + sizeof next + len > PATH_BYTES) return 0; /* a mapping without a name: only reports suffer */
    u32 at = paths_used + (u32)sizeof next;
    memcpy(rt_paths + paths_used, head, sizeof next);
    memcpy(rt_paths + at, path, len);
    paths_used = at + (u32)len;
    *head = at;
    return at;
}

/* What the last file was mapped through: Python finds it there when it has no name any more. */
static int mapped_fd;

void mm_file_identity(struct rt_seg *s, int fd) {
    char link[40], path[4096];
    struct stat st;
    s->kind = RT_SEG_FILE;
    mapped_fd = fd;
    if (sys2(__NR_fstat, fd, (long)&st) == 0) {
        s->dev = st.st_dev;
        s->ino = st.st_ino;
    }
    rt_snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long n = sys3(__NR_readlink, (long)link, (long)path, sizeof path - 1);
    if (n <= 0) /* beyond what the kernel puts into one path, or no /proc: Python finds the file by the descriptor */
        n = rt_snprintf(path, sizeof path, "(unknown path)");
    path[n] = 0;
    s->path = mm_intern_path(path);
}

u64 mm_new_object(void) {
    static u64 last;
    return ++last;
}

/* ---- changing the table -------------------------------------------------------------- */

static void move_to(struct rt_seg *first) {
    memmove(first, rt_segs, rt_nsegs * sizeof *first);
    begin_at(first);
}

/* What it holds is to be written.  Pointers into the table are void then; indices from at on are one more. */
static void open_slot(u32 at) {
    if (rt_nsegs == MAX_SEGS) rt_die("the program has more than %u memory mappings", MAX_SEGS);
    if (rt_nsegs >= MM_MANY_SEGS) rt_spare_mappings();
    if (rt_segs == room || rt_segs + rt_nsegs == room + ROOM) move_to(room + (ROOM - rt_nsegs) / 2);
    if (at < rt_nsegs / 2) {
        memmove(rt_segs - 1, rt_segs, at * sizeof *rt_segs);
        begin_at(rt_segs - 1);
    } else {
        memmove(&rt_segs[at + 1], &rt_segs[at], (rt_nsegs - at) * sizeof *rt_segs);
    }
    rt_nsegs++;
}

static void close_slots(u32 at, u32 count) {
    u32 behind = rt_nsegs - at - count;
    if (at < behind) {
        memmove(rt_segs + count, rt_segs, at * sizeof *rt_segs);
        begin_at(rt_segs + count);
    } else {
        memmove(&rt_segs[at], &rt_segs[at + count], behind * sizeof *rt_segs);
    }
    rt_nsegs -= count;
}

void mm_split(u64 addr) {
    u32 i = mm_first(addr);
    if (i >= rt_nsegs || rt_segs[i].lo >= addr) return;
    open_slot(i);
    rt_segs[i] = rt_segs[i + 1];
    rt_segs[i].hi = addr;
    rt_segs[i + 1].off += addr - rt_segs[i].lo;
    rt_segs[i + 1].lo = addr;
}

static bool joinable(const struct rt_seg *a, const struct rt_seg *b) {
    if (a->hi != b->lo || a->kind != b->kind || a->prot != b->prot || ((a->mflags ^ b->mflags) & ~MM_CLOSED) ||
        a->path != b->path || a->dev != b->dev || a->ino != b->ino || (a->mflags & MM_GROWS))
        return false;
    /* Private anonymous pages have no offset; objects have, and adjacent
     * offsets tell two pieces of one object from two objects. */
    if (a->kind == RT_SEG_FILE || a->kind == RT_SEG_SHM || (a->mflags & MM_SHARED))
        return a->off + (a->hi - a->lo) == b->off;
    return true;
}

void mm_join(u64 lo, u64 hi) {
    u32 i = mm_first(lo);
    if (i > 0) i--;
    while (i + 1 < rt_nsegs && rt_segs[i].lo <= hi) {
        if (!joinable(&rt_segs[i], &rt_segs[i + 1])) {
            i++;
            continue;
        }
        rt_segs[i].hi = rt_segs[i + 1].hi;
        rt_segs[i].mflags |= rt_segs[i + 1].mflags & MM_CLOSED;
        close_slots(i + 1, 1);
    }
}

void mm_sealed(u64 lo, u64 hi) {
    mm_split(lo);
    mm_split(hi);
    for (u32 i = mm_first(lo); i < rt_nsegs && rt_segs[i].lo < hi; i++) rt_segs[i].mflags |= MM_SEALED;
    mm_join(lo, hi);
}

void mm_announce(struct tstate *ts, u32 index) {
    struct rt_seg *s = &rt_segs[index];
    /* A shared mapping of code is a JIT compiler's: its contents change. */
    if (!(s->prot & PROT_EXEC) || s->kind != RT_SEG_FILE || s->path == 0 || (s->mflags & (MM_ANNOUNCED | MM_SHARED)))
        return;
    s->mflags |= MM_ANNOUNCED;
    struct ip_slot *slot = rt_slot(ts);
    const char *path = rt_paths + s->path;
    size_t len = rt_strlen(path);
    slot->a[0] = s->lo;
    slot->a[1] = s->hi - s->lo;
    slot->a[2] = s->off;
    slot->a[3] = s->prot;
    slot->a[4] = s->dev;
    slot->a[5] = s->ino;
    slot->a[6] = (u64)mapped_fd;
    slot->a[7] = mm_written_elsewhere(s);
    slot->len = (u32)len;
    memcpy(slot->data, path, len + 1);
    rt_request_python(ts, IP_R_MAPPED);
}

void mm_added(struct tstate *ts, const struct rt_seg *s, enum mm_shadow shadow) {
    u32 i = mm_first(s->lo);
    open_slot(i);
    rt_segs[i] = *s;
    if (!(s->mflags & MM_OURS) && (mm_bytes += s->hi - s->lo) > mm_peak) mm_peak = mm_bytes;
    if (shadow == MM_WITH_SHADOW)
        rt_hook_mapped(s->lo, s->hi - s->lo, s->mflags & MM_CLOSED ? RT_SH_CLOSED : RT_SH_DEFINED);
    mm_announce(ts, i);
    if ((s->mflags & MM_OPEN) && (s->prot & PROT_EXEC))
        rt_invalidate(ts, s->lo, s->hi - s->lo); /* announced as code that stays */
    mm_writable_alias(ts, s);
    mm_join(s->lo, s->hi);
}

u32 rt_objects_gone;

void mm_tell_unmapped(struct tstate *ts, u64 lo, u64 hi, bool replaced) {
    struct ip_slot *slot = rt_slot(ts);
    rt_objects_gone++;
    slot->a[0] = lo;
    slot->a[1] = hi - lo;
    slot->a[2] = replaced;
    slot->len = 0;
    rt_request_python(ts, IP_R_UNMAPPED);
}

bool mm_replaced(struct tstate *ts, u64 lo, u64 hi) {
    bool any = false;
    mm_split(lo);
    mm_split(hi);
    for (u32 i = mm_first(lo); i < rt_nsegs && rt_segs[i].lo < hi; i++) {
        any |= (rt_segs[i].mflags & MM_ANNOUNCED) != 0;
        rt_segs[i].mflags &= (u16)~MM_ANNOUNCED;
    }
    if (any) mm_tell_unmapped(ts, lo, hi, true);
    return any;
}

void mm_removed(struct tstate *ts, u64 lo, u64 hi, enum mm_shadow shadow) {
    mm_split(lo);
    mm_split(hi);
    u32 first = mm_first(lo), end = first;
    bool code = mm_forget_code_pages(lo, hi, false);
    /* Runs of announced neighbours become one message. */
    struct {
        u64 lo, hi;
    } told = {0, 0};
    for (; end < rt_nsegs && rt_segs[end].lo < hi; end++) code |= (rt_segs[end].prot & PROT_EXEC) != 0;
    if (first == end) return;
    for (u32 i = first; i <= end; i++) {
        bool announced = i < end && (rt_segs[i].mflags & MM_ANNOUNCED);
        if (told.hi != 0 && (!announced || rt_segs[i].lo != told.hi)) {
            mm_tell_unmapped(ts, told.lo, told.hi, false);
            told.hi = 0;
        }
        if (announced) {
            if (told.hi == 0) told.lo = rt_segs[i].lo;
            told.hi = rt_segs[i].hi;
        }
    }
    struct rt_seg *s;
    while (s = &rt_segs[first], first < rt_nsegs && s->lo < hi) {
        u64 a = s->lo, len = s->hi - s->lo;
        mm_bytes -= s->mflags & MM_OURS ? 0 : len;
        close_slots(first, 1);
        mm_place_freed(first);
        if (shadow == MM_WITH_SHADOW && (rt.flags & IP_C_SHADOW)) rt_hook_unmapped(a, len);
    }
    if (code) rt_invalidate(ts, lo, hi - lo);
}
