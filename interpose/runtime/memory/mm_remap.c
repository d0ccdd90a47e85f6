/* mremap, shmat and shmdt, io_setup and io_destroy: mappings that move, System V shared memory, rings of requests. */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/shm.h>

#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/hooks.h"
#include "runtime/memory/mm.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* ---- mremap -------------------------------------------------------------------------- */

struct remap {
    u64 old, old_len, new_len, flags, dest;
    bool keeps_code; /* takes the place of code that Python knows (mm_replaced) */
};

static bool flags_valid(const struct remap *m) {
    if (m->flags & ~(u64)(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP)) return false;
    if ((m->flags & MREMAP_FIXED) && !(m->flags & MREMAP_MAYMOVE)) return false;
    if ((m->flags & MREMAP_DONTUNMAP) && (!(m->flags & MREMAP_MAYMOVE) || m->old_len != m->new_len)) return false;
    return m->old % RT_PAGE == 0 && m->new_len != 0;
}

/* The part of its segment that starts at addr, as a segment of its own. */
static struct rt_seg model_at(const struct rt_seg *seg, u64 addr) {
    struct rt_seg s = *seg;
    if (s.kind == RT_SEG_FILE || s.kind == RT_SEG_SHM || (s.mflags & MM_SHARED)) s.off += addr - seg->lo;
    s.mflags &= (u16) ~(MM_ANNOUNCED | MM_LOW);
    if (s.kind == RT_SEG_BRK || s.kind == RT_SEG_STACK) s.kind = RT_SEG_ANON;
    return s;
}

static long grow_in_place(struct tstate *ts, const struct remap *m, const struct rt_seg *seg) {
    u64 end = m->old + m->old_len, new_end = m->old + m->new_len;
    if (seg->hi != end || !mm_allowed(m->old, m->new_len) || !mm_is_free(end, new_end)) return -ENOMEM;
    if (!mm_within_limits(m->new_len - m->old_len, seg->prot & PROT_WRITE ? m->new_len - m->old_len : 0))
        return -ENOMEM;
    struct rt_seg tail = *seg;
    if (tail.kind == RT_SEG_FILE || tail.kind == RT_SEG_SHM || (tail.mflags & MM_SHARED)) tail.off += end - seg->lo;
    tail.lo = end, tail.hi = new_end;
    tail.mflags &= (u16)~MM_ANNOUNCED;
    long r = sys4(__NR_mremap, (long)m->old, (long)m->old_len, (long)m->new_len, 0);
    if (r < 0) return r;
    mm_added(ts, &tail, MM_WITH_SHADOW);
    return r;
}

static long move(struct tstate *ts, const struct remap *m, const struct rt_seg *seg) {
    struct rt_seg s = model_at(seg, m->old);
    u64 kept = m->old_len < m->new_len ? m->old_len : m->new_len;
    bool stays = (m->flags & MREMAP_DONTUNMAP) != 0;
    s.lo = m->dest, s.hi = m->dest + m->new_len;
    if (s.lo < IP_IMAGES_HI) s.mflags |= MM_LOW;
    if (m->keeps_code) s.mflags |= MM_ANNOUNCED;
    u64 more = m->new_len - (stays ? 0 : kept);
    if (!mm_within_limits(more, s.prot & PROT_WRITE ? more : 0)) return -ENOMEM;
    long r = sys5(__NR_mremap, (long)m->old, (long)m->old_len, (long)m->new_len,
                  (long)(m->flags | MREMAP_MAYMOVE | MREMAP_FIXED), (long)m->dest);
    if (r < 0) return r;
    struct rt_seg left = *seg;
    if (m->old_len != 0) mm_removed(ts, m->old, m->old + m->old_len, MM_SHADOW_APART);
    if (s.mflags & MM_CLOSED) {
        if (kept != 0) rt_hook_unmapped(m->old, kept);
        rt_hook_mapped(m->dest, m->new_len, RT_SH_CLOSED);
    } else {
        if (kept != 0) rt_hook_moved(m->old, m->dest, kept);
        if (m->new_len > kept) rt_hook_mapped(m->dest + kept, m->new_len - kept, RT_SH_DEFINED);
    }
    mm_added(ts, &s, MM_SHADOW_APART);
    if (stays) { /* the old range reads as zeros (or as the object again) from now on */
        struct rt_seg again = model_at(&left, m->old);
        again.lo = m->old, again.hi = m->old + m->old_len;
        again.mflags |= left.mflags & MM_LOW;
        mm_added(ts, &again, MM_WITH_SHADOW);
    }
    return r;
}

static long remap(struct tstate *ts, struct remap *m);

/* From 6.17 on the kernel moves what several mappings have, if nothing changes its size, and looks at where to before
 * it looks for what is there. */
static bool kernel_moves_several(void) {
    static signed char known; /* 1: it does, -1: it does not */
    if (known == 0) {
        long from = rt_own_map(2 * RT_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        long to = rt_own_map(2 * RT_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        if (from < 0 || to < 0) return false;
        sys3(__NR_mprotect, from, RT_PAGE, PROT_NONE);
        known = sys5(__NR_mremap, from, 2 * RT_PAGE, 2 * RT_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to ? 1 : -1;
        if (known < 0) sys2(__NR_munmap, from, 2 * RT_PAGE);
        sys2(__NR_munmap, to, 2 * RT_PAGE);
    }
    return known > 0;
}

/* It does not move what may not come where it is told to: files with a way of their own to find room. */
static bool moves_alone(const struct rt_seg *seg) { return seg->kind == RT_SEG_SHM; }

/* One after the other, as the kernel does: gaps stay gaps, and of what was moved before an error nothing comes back. */
static long move_several(struct tstate *ts, const struct remap *m) {
    u64 at = m->old, end = m->old + m->old_len;
    if (!mm_allowed(m->old, m->old_len)) return -EFAULT;
    if (!kernel_moves_several()) { /* and has made room by then */
        long r = mm_unmap(ts, m->dest, m->dest + m->new_len);
        return r < 0 ? r : -EFAULT;
    }
    while (at < end) {
        u32 i = mm_first(at);
        if (i >= rt_nsegs || rt_segs[i].lo >= end) break;
        if (moves_alone(&rt_segs[i])) return -EFAULT;
        u64 lo = rt_segs[i].lo > at ? rt_segs[i].lo : at, hi = rt_segs[i].hi < end ? rt_segs[i].hi : end;
        struct remap piece = *m;
        piece.old = lo, piece.dest = m->dest + (lo - m->old);
        piece.old_len = piece.new_len = hi - lo;
        long r = remap(ts, &piece);
        if (r < 0) return r;
        at = hi;
    }
    return (long)m->dest;
}

static bool is_bad_place(const struct remap *m) {
    u64 most = rt_client_end();
    return m->dest % RT_PAGE != 0 || m->new_len > most || m->dest > most - m->new_len ||
           (m->dest < m->old + m->old_len && m->old < m->dest + m->new_len);
}

static long remap(struct tstate *ts, struct remap *m) {
    u64 end = m->old + m->old_len;
    u32 i = mm_first(m->old);
    bool fixed = (m->flags & MREMAP_FIXED) != 0, stays = (m->flags & MREMAP_DONTUNMAP) != 0;
    bool as_large = m->new_len == m->old_len, idle = as_large && !fixed && !stays;
    bool nowhere = (fixed && !mm_allowed(m->dest, m->new_len)) || ((fixed || stays) && is_bad_place(m));
    if (nowhere && kernel_moves_several()) return -EINVAL;
    if (end < m->old || i >= rt_nsegs || rt_segs[i].lo > m->old) return -EFAULT;
    if (rt_segs[i].mflags & MM_SEALED) return -EPERM;
    if (nowhere) return -EINVAL;
    if (m->new_len < m->old_len) { /* the tail goes in any case */
        long r = mm_unmap(ts, m->old + m->new_len, end);
        if (r < 0) return r;
        m->old_len = m->new_len;
        end = m->old + m->old_len;
        i = mm_first(m->old);
        if (!fixed) return (long)m->old;
    }
    if (rt_segs[i].hi < end) { /* more than one mapping */
        if (as_large && fixed) return move_several(ts, m);
        return idle ? sys4(__NR_mremap, (long)m->old, (long)m->old_len, (long)m->new_len, (long)m->flags) : -EFAULT;
    }
    if (idle) return (long)m->old;
    /* Pages without W on the host are separate mappings there; mremap takes one. */
    if (mm_forget_code_pages(m->old, end, true)) rt_invalidate(ts, m->old, m->old_len);
    if (!fixed && !stays && m->old_len != 0) {
        long r = grow_in_place(ts, m, &rt_segs[i]);
        if (r != -ENOMEM || !(m->flags & MREMAP_MAYMOVE)) return r;
    }
    /* Of one that leaves its range mapped, the kernel takes the address for a hint, as mmap does. */
    bool hinted = !fixed && stays && m->dest != 0 && mm_allowed(m->dest, m->new_len) &&
                  mm_is_free(m->dest, m->dest + m->new_len);
    if (!fixed && !hinted) {
        if (!(m->flags & MREMAP_MAYMOVE)) return -ENOMEM;
        m->dest = rt_segs[i].prot & PROT_EXEC ? mm_place_low(m->new_len, RT_PAGE) : 0;
        if (m->dest == 0) m->dest = mm_place_high(m->new_len, RT_PAGE);
        if (m->dest == 0) return -ENOMEM;
    } else if (fixed && !mm_is_free(m->dest, m->dest + m->new_len)) {
        bool anonymous = rt_segs[i].kind == RT_SEG_ANON && !(rt_segs[i].mflags & MM_SHARED) && rt_segs[i].prot;
        m->keeps_code = anonymous && mm_replaced(ts, m->dest, m->dest + m->new_len);
        long r = mm_unmap(ts, m->dest, m->dest + m->new_len);
        if (r < 0) return r;
        i = mm_first(m->old);
    }
    struct rt_seg seg = rt_segs[i];
    long r = move(ts, m, &seg);
    if (r < 0 && m->keeps_code) mm_tell_unmapped(ts, m->dest, m->dest + m->new_len, false);
    return r;
}

long rt_sys_mremap(struct tstate *ts) {
    struct remap m = {
        .old = ts->gpr[IP_RDI],
        .old_len = RT_ROUND_UP(ts->gpr[IP_RSI], RT_PAGE),
        .new_len = RT_ROUND_UP(ts->gpr[IP_RDX], RT_PAGE),
        .flags = ts->gpr[IP_R10],
        .dest = ts->gpr[IP_R8],
    };
    if (!flags_valid(&m)) return -EINVAL;
    if (m.new_len > rt_client_end()) return -ENOMEM;
    u64 before = rt_dropped_blocks();
    rt_mm_lock();
    long r = remap(ts, &m);
    rt_mm_unlock();
    if (rt_dropped_blocks() != before) rt_leave_blocks(ts);
    return r;
}

/* ---- Pages of the heap ----------------------------------------------------------------- */
#define FRESH (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED)

/* Private memory that the program may read and write, and has made nothing else of. */
static bool is_plain(u64 lo, u64 len) {
    u32 i = mm_first(lo);
    return i < rt_nsegs && rt_segs[i].lo <= lo && rt_segs[i].hi - lo >= len && rt_segs[i].kind == RT_SEG_ANON &&
           rt_segs[i].prot == (PROT_READ | PROT_WRITE) && !(rt_segs[i].mflags & (MM_SHARED | MM_SEALED));
}

bool rt_move_pages(u64 to, u64 from, u64 len) {
    const long how = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
    rt_mm_lock();
    bool can = is_plain(to, len) && is_plain(from, len);
    bool moved = can && sys5(__NR_mremap, (long)from, (long)len, (long)len, how, (long)to) == (long)to;
    /* The kernel may have made room there before it found that it cannot. */
    if (can && !moved && mm_host_map(to, len, PROT_READ | PROT_WRITE, FRESH, -1, 0) < 0)
        rt_die("no memory to move a block of %lu bytes: raise the address-space limit (ulimit -v)", len);
    rt_mm_unlock();
    return moved;
}

/* ---- System V shared memory --------------------------------------------------------------- */

static long attach(struct tstate *ts, int id, u64 addr, u32 flags) {
    struct shmid64_ds ds;
    long r = sys3(__NR_shmctl, id, IPC_STAT, (long)&ds);
    if (r < 0) return r;
    u64 len = RT_ROUND_UP((u64)ds.shm_segsz, RT_PAGE);
    struct rt_seg s = {.kind = RT_SEG_SHM, .mflags = MM_SHARED, .dev = ~0ull, .ino = (u64)id};
    s.prot = PROT_READ | (flags & SHM_RDONLY ? 0 : PROT_WRITE) | (flags & SHM_EXEC || rt.read_exec ? PROT_EXEC : 0);
    if (addr == 0) {
        if (flags & SHM_REMAP) return -EINVAL;
        addr = flags & SHM_EXEC ? mm_place_low(len, RT_PAGE) : 0;
        if (addr == 0) addr = mm_place_high(len, RT_PAGE);
        if (addr == 0) return -ENOMEM;
    } else {
        if (flags & SHM_RND) addr = RT_ROUND_DOWN(addr, RT_PAGE);
        if (addr % RT_PAGE != 0 || !mm_allowed(addr, len)) return -EINVAL;
    }
    bool replace = !mm_is_free(addr, addr + len);
    if (replace && !(flags & SHM_REMAP)) return -EINVAL;
    r = sys3(__NR_shmat, id, (long)addr, (long)(flags & ~(u32)SHM_RND)); /* SHM_EXEC takes a permission of its own */
    if (r < 0) return r;
    if (flags & SHM_EXEC) sys3(__NR_mprotect, (long)addr, (long)len, (long)(s.prot & ~(u32)PROT_EXEC));
    if (replace) mm_removed(ts, addr, addr + len, MM_WITH_SHADOW);
    s.lo = addr, s.hi = addr + len;
    if (addr < IP_IMAGES_HI) s.mflags |= MM_LOW;
    mm_added(ts, &s, MM_WITH_SHADOW);
    return (long)addr;
}

long rt_sys_shmat(struct tstate *ts) {
    rt_mm_lock();
    long r = attach(ts, (int)ts->gpr[IP_RDI], ts->gpr[IP_RSI], (u32)ts->gpr[IP_RDX]);
    rt_mm_unlock();
    return r;
}

/* The next piece of the attachment at addr: mprotect or munmap may have split it. */
static u32 attached(u32 i, u64 addr) {
    while (i < rt_nsegs && (rt_segs[i].kind != RT_SEG_SHM || rt_segs[i].lo - rt_segs[i].off != addr)) i++;
    return i;
}

/* As in the kernel, addr is where the segment's first byte would be, whether that is still mapped or not. */
long rt_sys_shmdt(struct tstate *ts) {
    u64 addr = ts->gpr[IP_RDI];
    rt_mm_lock();
    u32 i = attached(mm_first(addr), addr);
    if (addr % RT_PAGE != 0 || i == rt_nsegs) {
        rt_mm_unlock();
        return -EINVAL;
    }
    u64 id = rt_segs[i].ino;
    long r = sys1(__NR_shmdt, (long)addr);
    while (r == 0 && i < rt_nsegs && rt_segs[i].ino == id) {
        if (rt_segs[i].mflags & MM_SEALED) { /* stays, and that is no error */
            i = attached(i + 1, addr);
            continue;
        }
        mm_removed(ts, rt_segs[i].lo, rt_segs[i].hi, MM_WITH_SHADOW);
        i = attached(mm_first(addr), addr);
    }
    rt_mm_unlock();
    return r;
}

/* ---- io_setup ---------------------------------------------------------------- */

/* The kernel maps the ring where it likes, and its address is the context's name.  libaio reads it: it has to lie where
 * the program's mappings are, and the kernel takes its moving for the context's. */
static long take_ring(struct tstate *ts, u64 *ring) {
    struct {
        u32 id, nr, rest[6];
    } head;
    if (rt_copy_from(&head, *ring, sizeof head) < 0) return -EFAULT;
    u64 len = RT_ROUND_UP(sizeof head + 32ull * head.nr, RT_PAGE); /* struct io_event: 32 bytes */
    u64 to = mm_within_limits(len, 0) ? mm_place_high(len, RT_PAGE) : 0;
    if (to == 0) return -ENOMEM;
    long r = sys5(__NR_mremap, (long)*ring, (long)len, (long)len, MREMAP_MAYMOVE | MREMAP_FIXED, (long)to);
    if (r < 0) return r;
    *ring = to;
    struct rt_seg s = {.kind = RT_SEG_ANON, .mflags = MM_SHARED, .prot = PROT_READ | PROT_WRITE};
    s.ino = mm_new_object();
    s.lo = to, s.hi = to + len;
    mm_added(ts, &s, MM_WITH_SHADOW);
    return 0;
}

static void leave_ring(struct tstate *ts, u64 ring) {
    u32 i = mm_first(ring);
    u64 object = i < rt_nsegs && rt_segs[i].lo == ring && (rt_segs[i].mflags & MM_SHARED) ? rt_segs[i].ino : 0;
    for (; object && i < rt_nsegs && rt_segs[i].ino == object; i = mm_first(ring))
        mm_removed(ts, rt_segs[i].lo, rt_segs[i].hi, MM_WITH_SHADOW);
}

long rt_sys_io_setup(struct tstate *ts) {
    u64 at = ts->gpr[IP_RSI], ring = 0;
    if (rt_copy_from(&ring, at, sizeof ring) < 0) return -EFAULT;
    rt_mm_lock();
    long r = sys2(__NR_io_setup, (long)(u32)ts->gpr[IP_RDI], (long)&ring);
    if (r == 0 && (r = take_ring(ts, &ring)) < 0) sys1(__NR_io_destroy, (long)ring);
    if (r == 0 && rt_copy_to(at, &ring, sizeof ring) < 0) {
        sys1(__NR_io_destroy, (long)ring);
        leave_ring(ts, ring);
        r = -EFAULT;
    }
    rt_mm_unlock();
    return r;
}

void rt_ring_gone(struct tstate *ts, u64 ring) {
    rt_mm_lock();
    leave_ring(ts, ring);
    rt_mm_unlock();
}
