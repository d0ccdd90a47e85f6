/* mmap, munmap, mprotect, madvise and brk of the guest: the kernel does the
 * work, we decide where, and the table follows.
 *
 * Code and whatever looks like an ELF image, and may be read, goes below 2 GiB, where translated
 * code reaches it with 32-bit displacements; all the rest below the client
 * limit, where it has a shadow (docs/architecture.md, address space).
 */
#include <asm/statfs.h>
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/magic.h>
#include <linux/resource.h>

#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/hooks.h"
#include "runtime/memory/mm.h"

#define HUGE_SHIFT_BITS 26 /* MAP_HUGE_SHIFT */
#define HUGE_DEFAULT    (2ull << 20)
#define CAP_IPC_LOCK_   14
#define ST_NOEXEC_      8             /* statfs(2), f_flags */
#define LOWEST_HINT     0x10000ull    /* lower ones are raised to it, as by the kernel */
#define GROW_LIMIT      (8ull << 20)  /* how far a MAP_GROWSDOWN mapping may be behind */
#define GROW_GAP        (1ull << 20)  /* the kernel's stack_guard_gap */
#define FARTHEST        (64ull << 30) /* from a stack's end: what RSP is off by beyond it is no frame */

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static bool lock_future; /* mlockall(MCL_FUTURE) holds */

struct map_args {
    u64 addr, len, off;
    u32 prot, flags;
    int fd;
};

/* Code that other threads may be in has gone since: as natively, not one of its
 * instructions runs after the call. */
static void leave_old_code(struct tstate *ts, u64 dropped_before) {
    if (rt_dropped_blocks() != dropped_before) rt_leave_blocks(ts);
}

/* ---- mmap --------------------------------------------------------------------------- */

/* Asked for what the program may read: else it could see (mincore) that the file has come into the page cache. */
static bool is_elf(int fd) {
    u8 magic[4] = {0};
    return sys4(__NR_pread64, fd, (long)magic, 4, 0) == 4 && memcmp(magic, "\177ELF", 4) == 0;
}

/* Page size that a mapping must respect. */
static u64 alignment_of(const struct map_args *m) {
    if (m->flags & MAP_ANONYMOUS) {
        u32 shift = m->flags >> HUGE_SHIFT_BITS & 63;
        if (m->flags & MAP_HUGETLB) return shift ? 1ull << shift : HUGE_DEFAULT;
        return RT_PAGE;
    }
    struct statfs fs;
    if (sys2(__NR_fstatfs, m->fd, (long)&fs) == 0 && fs.f_type == HUGETLBFS_MAGIC &&
        (fs.f_bsize & (fs.f_bsize - 1)) == 0 && fs.f_bsize > (long)RT_PAGE)
        return (u64)fs.f_bsize;
    return RT_PAGE;
}

static u64 choose_place(const struct map_args *m, bool low, u64 align) {
    if (m->addr && m->addr % align == 0 && mm_allowed(m->addr, m->len) && mm_is_free(m->addr, m->addr + m->len))
        return m->addr;
    u64 at = m->flags & MAP_32BIT ? mm_place_32bit(m->len, align) : low ? mm_place_low(m->len, align) : 0;
    if (at == 0 && !(m->flags & MAP_32BIT)) {
        /* As the kernel does, so that transparent huge pages fit. */
        if (align == RT_PAGE && (m->flags & MAP_ANONYMOUS) && m->len % HUGE_DEFAULT == 0) align = HUGE_DEFAULT;
        at = mm_place_high(m->len, align);
    }
    return at;
}

static long host_mmap(const struct map_args *m, u64 at, bool replace) {
    u32 flags = m->flags & ~(u32)(MAP_32BIT | MAP_GROWSDOWN | MAP_FIXED | MAP_FIXED_NOREPLACE);
    /* MAP_SHARED_VALIDATE rejects flags it does not know, NOREPLACE among them. */
    if (replace || (m->flags & MAP_TYPE) == MAP_SHARED_VALIDATE)
        flags |= MAP_FIXED;
    else
        flags |= MAP_FIXED_NOREPLACE;
    if (lock_future) flags |= MAP_LOCKED;
    return mm_host_map(at, m->len, m->prot, flags, m->fd, m->off);
}

/* The rings of io_uring refuse every address that somebody else chose.  With
 * MAP_32BIT the kernel's own search goes from 1 GiB up, where there is room for the
 * program's. */
static long kernels_place(const struct map_args *m) {
    long r = mm_host_map(0, m->len, m->prot, m->flags | MAP_32BIT, m->fd, m->off);
    if (r < 0 || mm_allowed((u64)r, m->len)) return r;
    sys2(__NR_munmap, r, (long)m->len);
    return -ENOMEM;
}

/* Under the lock. */
static long map_locked(struct tstate *ts, struct map_args *m, bool low) {
    bool fixed = (m->flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
    bool replace = false;
    u64 at = m->addr;
    if (fixed) {
        if (at % RT_PAGE != 0) return -EINVAL;
        if (!mm_allowed(at, m->len)) { /* who looks for a free place, one after the other, goes on behind ours */
            bool ours = (m->flags & MAP_FIXED_NOREPLACE) && at + m->len > at && at + m->len <= rt_client_end();
            return ours ? -EEXIST : -ENOMEM;
        }
        replace = !mm_is_free(at, at + m->len);
        if (replace && (m->flags & MAP_FIXED_NOREPLACE)) return -EEXIST;
    } else {
        m->addr = RT_ROUND_DOWN(m->addr, RT_PAGE);
        if (m->addr && m->addr < LOWEST_HINT) m->addr = LOWEST_HINT;
        at = choose_place(m, low, m->flags & MAP_HUGETLB ? alignment_of(m) : RT_PAGE);
        if (at == 0) return -ENOMEM;
    }
    bool data = (m->prot & PROT_WRITE) && (m->flags & MAP_TYPE) == MAP_PRIVATE;
    if (!replace && !mm_within_limits(m->len, data ? m->len : 0)) return -ENOMEM;
    long r = host_mmap(m, at, replace);
    if (r == -EINVAL && !fixed && !(m->flags & MAP_ANONYMOUS)) {
        u64 align = alignment_of(m); /* a file of huge pages? */
        if (align > RT_PAGE) {
            m->len = RT_ROUND_UP(m->len, align);
            at = mm_place_high(m->len, align);
            if (at == 0) return -ENOMEM;
            r = host_mmap(m, at, false);
        } else if (m->addr == 0 && (m->flags & MAP_TYPE) != MAP_PRIVATE) {
            r = kernels_place(m);
            at = r < 0 ? at : (u64)r;
        }
    }
    if (r < 0) return r;
    if ((u64)r != at) /* a kernel that takes NOREPLACE for a hint */
        rt_panic(ts, "mmap at 0x%lx came out at 0x%lx", at, (u64)r);
    struct rt_seg s = {.lo = at, .hi = at + m->len, .prot = m->prot & 7, .kind = RT_SEG_ANON};
    if ((m->flags & MAP_TYPE) == MAP_SHARED || (m->flags & MAP_TYPE) == MAP_SHARED_VALIDATE) s.mflags |= MM_SHARED;
    if (at < IP_IMAGES_HI) s.mflags |= MM_LOW;
    if (m->flags & MAP_GROWSDOWN) s.mflags |= MM_GROWS;
    if (!s.prot) s.mflags |= MM_CLOSED;
    if (!(m->flags & MAP_ANONYMOUS)) {
        s.off = m->off;
        mm_file_identity(&s, m->fd);
        if (!(s.mflags & MM_SHARED) && mm_file_is_open(&s, m->fd)) s.mflags |= MM_OPEN;
    } else if (s.mflags & MM_SHARED) {
        s.ino = mm_new_object();
    }
    if (replace) {
        bool anonymous = (m->flags & MAP_ANONYMOUS) && !(s.mflags & MM_SHARED) && s.prot;
        if (anonymous && mm_replaced(ts, s.lo, s.hi)) s.mflags |= MM_ANNOUNCED;
        mm_removed(ts, at, at + m->len, MM_WITH_SHADOW);
    }
    mm_added(ts, &s, MM_WITH_SHADOW);
    return (long)at;
}

/* The file lies where nothing may be executed. */
static bool is_noexec(int fd) {
    struct statfs64 fs;
    return sys2(__NR_fstatfs, fd, (long)&fs) == 0 && (fs.f_flags & ST_NOEXEC_);
}

/* What the kernel makes of the protection asked for: readable means executable under personality
 * READ_IMPLIES_EXEC, and nothing is from a noexec mount.  Code of the guest is never executable on the host, so
 * the kernel itself has no say. */
static long allowed_prot(struct map_args *m) {
    bool implied = rt.read_exec && (m->prot & PROT_READ);
    if (!(m->prot & PROT_EXEC) && !implied) return 0;
    bool denied = !(m->flags & MAP_ANONYMOUS) && is_noexec(m->fd);
    if (denied && (m->prot & PROT_EXEC)) return -EPERM;
    if (!denied) m->prot |= PROT_EXEC;
    return 0;
}

/* Is a reservation (anonymous, without access) to lie near the images?  One that is wanted there: V8's, for its code.
 * And the dynamic linker's: glibc makes one, from 2.35 on, for an image whose segments ask for more than a page's
 * alignment (all those of linkers before binutils 2.31), and maps the file within it. */
static bool reserves_near_images(const struct tstate *ts, u64 addr) {
    if (!addr) return rt_pc(ts->pc) - rt.linker_lo < rt.linker_hi - rt.linker_lo;
    return addr >= LOWEST_HINT && addr < IP_IMAGES_HI;
}

long rt_sys_mmap(struct tstate *ts) {
    struct map_args m = {
        .addr = ts->gpr[IP_RDI],
        .len = ts->gpr[IP_RSI],
        .off = ts->gpr[IP_R9],
        .prot = (u32)ts->gpr[IP_RDX],
        .flags = (u32)ts->gpr[IP_R10],
        .fd = (int)ts->gpr[IP_R8],
    };
    if (m.off % RT_PAGE != 0) return -EINVAL;
    if (!(m.flags & MAP_ANONYMOUS) && sys2(__NR_fcntl, m.fd, F_GETFD) < 0) return -EBADF; /* first of all */
    if (m.len == 0) return -EINVAL;
    u64 unit = (m.flags & MAP_ANONYMOUS) ? alignment_of(&m) : RT_PAGE;
    if (RT_ROUND_UP(m.len, unit) < m.len || RT_ROUND_UP(m.len, unit) > rt_client_end()) return -ENOMEM;
    long allowed = allowed_prot(&m);
    if (allowed < 0) return allowed;
    if (rt.mdwe && (m.prot & PROT_EXEC) && (m.prot & PROT_WRITE)) return -EACCES; /* prctl(2), PR_SET_MDWE */
    m.len = RT_ROUND_UP(m.len, unit);
    bool anonymous = (m.flags & MAP_ANONYMOUS) != 0;
    bool is_private = (m.flags & MAP_TYPE) == MAP_PRIVATE;
    bool low = (m.flags & MAP_32BIT) || (anonymous && m.prot == PROT_NONE && reserves_near_images(ts, m.addr)) ||
               (anonymous && (m.prot & PROT_EXEC)) ||
               (!anonymous && is_private && ((m.prot & PROT_EXEC) || (m.prot != PROT_NONE && is_elf(m.fd))));
    u64 before = rt_dropped_blocks();
    rt_mm_lock();
    long r = map_locked(ts, &m, low);
    rt_mm_unlock();
    leave_old_code(ts, before);
    return r;
}

u64 rt_map_client(u64 hint_low, u64 len, int prot) {
    struct rt_seg s = {.prot = (u32)prot, .kind = RT_SEG_ANON};
    len = RT_ROUND_UP(len, RT_PAGE);
    rt_mm_lock();
    s.lo = hint_low ? mm_place_low(len, RT_PAGE) : 0;
    if (s.lo)
        s.mflags = MM_LOW;
    else
        s.lo = mm_place_high(len, RT_PAGE);
    s.hi = s.lo + len;
    if (s.lo != 0 && mm_within_limits(len, s.prot & PROT_WRITE ? len : 0) &&
        mm_host_map(s.lo, len, s.prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == (long)s.lo)
        mm_added(NULL, &s, MM_WITH_SHADOW); /* anonymous: nothing to announce */
    else
        s.lo = 0;
    rt_mm_unlock();
    return s.lo;
}

/* ---- munmap -------------------------------------------------------------------------- */

long mm_unmap(struct tstate *ts, u64 lo, u64 hi) {
    long r = 0;
    if (mm_allowed(lo, hi - lo)) {
        /* One call: nothing of ours lies in between. */
        r = sys2(__NR_munmap, (long)lo, (long)(hi - lo));
    } else {
        for (u32 i = mm_first(lo); r == 0 && i < rt_nsegs && rt_segs[i].lo < hi; i++) {
            u64 a = rt_segs[i].lo > lo ? rt_segs[i].lo : lo;
            u64 b = rt_segs[i].hi < hi ? rt_segs[i].hi : hi;
            r = sys2(__NR_munmap, (long)a, (long)(b - a));
        }
    }
    if (r == 0) mm_removed(ts, lo, hi, MM_WITH_SHADOW);
    return r;
}

long rt_sys_munmap(struct tstate *ts) {
    u64 lo = ts->gpr[IP_RDI], len = ts->gpr[IP_RSI];
    if (lo % RT_PAGE != 0 || len == 0 || lo > rt_task_end || len > rt_task_end - lo) return -EINVAL;
    u64 before = rt_dropped_blocks(), hi = RT_ROUND_UP(lo + len, RT_PAGE);
    /* It may wait, the range gone, until another thread has read of it from a userfaultfd: not under the lock.  The
     * table keeps the range meanwhile, so nothing is placed there. */
    bool apart = rt_program_brings_pages && mm_allowed(lo, hi - lo);
    long r = apart ? sys2(__NR_munmap, (long)lo, (long)(hi - lo)) : 0;
    rt_mm_lock();
    if (!apart)
        r = mm_unmap(ts, lo, hi);
    else if (r == 0)
        mm_removed(ts, lo, hi, MM_WITH_SHADOW);
    rt_mm_unlock();
    leave_old_code(ts, before);
    return r;
}

/* ---- mprotect ------------------------------------------------------------------------- */

static void opened(u32 index) {
    struct rt_seg *s = &rt_segs[index];
    s->mflags &= (u16)~MM_CLOSED;
    rt_hook_opened(s->lo, s->hi - s->lo);
}

/* One piece inside one segment. */
static long protect_piece(struct tstate *ts, u64 a, u64 b, u32 prot, long pkey) {
    u32 host = mm_host_prot(prot);
    const struct rt_seg *s = &rt_segs[mm_first(a)];
    if ((prot & ~s->prot & PROT_EXEC) && s->kind == RT_SEG_FILE && !rt.mdwe) {
        /* From a noexec mount it never becomes executable: the kernel knows which. */
        long may = sys3(__NR_mprotect, (long)a, (long)(b - a), host | PROT_EXEC);
        if (may < 0) return may;
    }
    if ((prot & ~s->prot & PROT_WRITE) && !(s->mflags & MM_SHARED) && !mm_within_limits(0, b - a)) return -ENOMEM;
    long r = pkey == -1 ? sys3(__NR_mprotect, (long)a, (long)(b - a), host)
                        : sys4(__NR_pkey_mprotect, (long)a, (long)(b - a), host, pkey);
    if (r < 0) return r;
    u32 old = s->prot;
    bool open = s->mflags & MM_OPEN;
    bool code = mm_forget_code_pages(a, b, false);
    if (old != prot) {
        code |= (old & PROT_EXEC) != 0;
        mm_split(a);
        mm_split(b);
        rt_segs[mm_first(a)].prot = prot;
        if (!old) opened(mm_first(a));
        mm_announce(ts, mm_first(a));
        code |= (prot & PROT_EXEC) && open;
        if (!(old & PROT_WRITE)) mm_writable_alias(ts, &rt_segs[mm_first(a)]);
    }
    if (code) rt_invalidate(ts, a, b - a);
    return 0;
}

/* The kernel looks at the key before it looks for a mapping; there is never one at the end. */
static bool is_key(long pkey) {
    return pkey == -1 || sys4(__NR_pkey_mprotect, (long)rt_task_end, RT_PAGE, PROT_READ, pkey) != -EINVAL;
}

/* Checks in the kernel's order. */
static long protect(struct tstate *ts, u64 lo, u64 len, u64 rights, long pkey) {
    u64 grows = rights & (PROT_GROWSDOWN | PROT_GROWSUP);
    if (lo % RT_PAGE != 0 || grows == (PROT_GROWSDOWN | PROT_GROWSUP)) return -EINVAL;
    if (len == 0) return 0;
    u64 hi = RT_ROUND_UP(lo + len, RT_PAGE);
    if (hi <= lo) return -ENOMEM;
    if ((rights & ~(u64)(7 | PROT_SEM | PROT_GROWSDOWN | PROT_GROWSUP)) || !is_key(pkey)) return -EINVAL;
    u32 prot = (u32)rights;
    if (rt.read_exec && (prot & PROT_READ)) prot |= PROT_EXEC;
    u32 i = mm_first(lo);
    if (i >= rt_nsegs || rt_segs[i].lo > lo) return -ENOMEM;
    if (grows) { /* glibc asks so for an executable stack */
        if (grows == PROT_GROWSUP || (rt_segs[i].kind != RT_SEG_STACK && !(rt_segs[i].mflags & MM_GROWS)))
            return -EINVAL;
        lo = rt_segs[i].lo;
    }
    long r = 0;
    u64 at = lo;
    while (r == 0 && at < hi) {
        i = mm_first(at);
        if (i >= rt_nsegs || rt_segs[i].lo > at) {
            r = -ENOMEM;
            break;
        }
        u64 end = rt_segs[i].hi < hi ? rt_segs[i].hi : hi;
        bool denied = rt.mdwe && (prot & PROT_EXEC) && ((prot & PROT_WRITE) || !(rt_segs[i].prot & PROT_EXEC));
        r = denied ? -EACCES : protect_piece(ts, at, end, prot & 7, pkey);
        at = end;
    }
    mm_join(lo, hi);
    return r;
}

static long protect_call(struct tstate *ts, int pkey) {
    u64 before = rt_dropped_blocks();
    rt_mm_lock();
    long r = protect(ts, ts->gpr[IP_RDI], ts->gpr[IP_RSI], ts->gpr[IP_RDX], pkey);
    rt_mm_unlock();
    leave_old_code(ts, before);
    return r;
}

long rt_sys_mprotect(struct tstate *ts) { return protect_call(ts, -1); }
long rt_sys_pkey_mprotect(struct tstate *ts) { return protect_call(ts, (int)ts->gpr[IP_R10]); }

/* ---- madvise --------------------------------------------------------------------------- */

long rt_sys_madvise(struct tstate *ts) {
    u64 lo = ts->gpr[IP_RDI], len = RT_ROUND_UP(ts->gpr[IP_RSI], RT_PAGE);
    u32 advice = (u32)ts->gpr[IP_RDX];
    if (lo + len < lo || (len == 0 && ts->gpr[IP_RSI] != 0)) return -EINVAL;
    if (len != 0 && !mm_allowed(lo, len)) return mm_refused(__NR_madvise, lo, (int)advice);
    bool drops = advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE ||
                 advice == 24 /* MADV_DONTNEED_LOCKED */ || advice == 102 /* MADV_GUARD_INSTALL, Linux 6.13 */;
    if (!drops || len == 0) return sys3(__NR_madvise, (long)lo, (long)len, (int)advice);
    /* Not under the lock: it may wait until another thread has read of it from a userfaultfd. */
    long r = sys3(__NR_madvise, (long)lo, (long)len, (int)advice);
    rt_mm_lock();
    bool code = mm_forget_code_pages(lo, lo + len, true);
    for (u32 i = mm_first(lo); i < rt_nsegs && rt_segs[i].lo < lo + len; i++)
        code |= (rt_segs[i].prot & PROT_EXEC) != 0;
    u64 before = rt_dropped_blocks();
    if (code) rt_invalidate(ts, lo, len);
    rt_mm_unlock();
    leave_old_code(ts, before);
    return r;
}

/* ---- mincore --------------------------------------------------------------------------- */

/* Memory of ours is none of the guest's. */
long rt_sys_mincore(struct tstate *ts) {
    u64 lo = ts->gpr[IP_RDI], hi = RT_ROUND_UP(lo + ts->gpr[IP_RSI], RT_PAGE);
    rt_mm_lock();
    u64 at = lo;
    for (u32 i = mm_first(lo); at < hi && i < rt_nsegs && rt_segs[i].lo <= at; i++) at = rt_segs[i].hi;
    bool gap = lo % RT_PAGE == 0 && hi > lo && hi <= rt_task_end && at < hi;
    rt_mm_unlock();
    return gap ? -ENOMEM : sys3(__NR_mincore, (long)lo, (long)ts->gpr[IP_RSI], (long)ts->gpr[IP_RDX]);
}

/* ---- the stack as the kernel would have it --------------------------------------------- */

#define STACK_ROOM (128ull << 10) /* what the kernel maps below the first frame */

u64 rt_stack_shown(const struct rt_seg *s) {
    u8 resident[1024];
    if (s->kind != RT_SEG_STACK || s->hi != rt.stack_top) return s->lo;
    u64 first = RT_ROUND_DOWN(rt.auxv_sp, RT_PAGE) - STACK_ROOM, lo = s->lo;
    for (u64 n; lo < first; lo += n) {
        n = first - lo < sizeof resident * RT_PAGE ? first - lo : sizeof resident * RT_PAGE;
        if (sys3(__NR_mincore, (long)lo, (long)n, (long)resident) != 0) return s->lo;
        for (u64 i = 0; i < n / RT_PAGE; i++)
            if (resident[i] & 1) return lo + i * RT_PAGE;
    }
    return lo;
}

/* ---- mlockall ------------------------------------------------------------------------- */

static bool may_lock(void) {
    struct rlimit64 lim = {0, 0};
    sys4(__NR_prlimit64, 0, RLIMIT_MEMLOCK, 0, (long)&lim);
    u64 unused = 0; /* of the stack: the kernel would not have mapped it yet */
    for (u32 i = 0; i < rt_nsegs; i++)
        if (rt_segs[i].kind == RT_SEG_STACK) unused += rt_stack_shown(&rt_segs[i]) - rt_segs[i].lo;
    return lim.rlim_cur == RLIM64_INFINITY || mm_bytes - unused <= lim.rlim_cur || rt_capable(CAP_IPC_LOCK_);
}

/* The kernel's own would lock (and fill) our tables and the shadow.  As there, a
 * mapping that cannot be filled (beyond a file's end) is no failure. */
long rt_sys_mlockall(struct tstate *ts) {
    u32 flags = (u32)ts->gpr[IP_RDI];
    long r = 0;
    if (flags == 0 || (flags & ~(u32)(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) || flags == MCL_ONFAULT) return -EINVAL;
    rt_mm_lock();
    if ((flags & MCL_CURRENT) && !may_lock()) r = -ENOMEM;
    for (u32 i = 0; (flags & MCL_CURRENT) && r == 0 && i < rt_nsegs; i++)
        if (rt_segs[i].prot != PROT_NONE && !(rt_segs[i].mflags & MM_OURS)) {
            /* Of the stack, what is in use: the kernel would not have mapped the rest yet. */
            bool lazy = (flags & MCL_ONFAULT) || rt_segs[i].kind == RT_SEG_STACK;
            r = sys3(__NR_mlock2, (long)rt_segs[i].lo, (long)(rt_segs[i].hi - rt_segs[i].lo), lazy ? MLOCK_ONFAULT : 0);
            if (r == -ENOMEM || r == -EAGAIN) r = 0;
        }
    if (r == 0) lock_future = (flags & MCL_FUTURE) != 0;
    rt_mm_unlock();
    return r;
}

long rt_sys_munlockall(struct tstate *ts) {
    (void)ts;
    rt_mm_lock();
    lock_future = false;
    long r = sys0(__NR_munlockall);
    rt_mm_unlock();
    return r;
}

/* ---- brk ----------------------------------------------------------------------------- */

long rt_sys_brk(struct tstate *ts) {
    static u64 now; /* 0 until the first call; under the lock */
    u64 want = ts->gpr[IP_RDI];
    rt_mm_lock();
    if (now == 0) now = rt.brk_start;
    u64 had = now;
    u64 have_end = RT_ROUND_UP(now, RT_PAGE), want_end = RT_ROUND_UP(want, RT_PAGE);
    if (want >= rt.brk_start && want_end >= want && mm_heap_within_limit(want - rt.brk_start)) {
        if (want_end > have_end) {
            struct rt_seg s = {.lo = have_end, .hi = want_end, .prot = PROT_READ | PROT_WRITE, .kind = RT_SEG_BRK};
            if (rt.read_exec) s.prot |= PROT_EXEC;
            if (mm_allowed(have_end, want_end - have_end) &&
                mm_within_limits(want_end - have_end, want_end - have_end) && mm_is_free(have_end, want_end) &&
                mm_host_map(have_end, want_end - have_end, s.prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                            -1, 0) == (long)have_end) {
                mm_added(ts, &s, MM_WITH_SHADOW);
                now = want;
            }
        } else if (want_end == have_end || mm_unmap(ts, want_end, have_end) == 0) {
            now = want;
        }
    }
    u64 has = rt.chan->data_end = now;
    rt_mm_unlock();
    /* Before there is a thread pointer, it is the C library that starts, and relies on the kernel's zeros. */
    if (has != had && ts->client_fs) rt_hook_data_end(ts, had, has);
    return (long)has;
}

/* ---- stacks that grow ---------------------------------------------------------------------- */

/* The main stack: in steps that double it, as far as RLIMIT_STACK allows now.  Its shadow
 * says undefined, as everything below RSP. */
static bool grow_main(struct tstate *ts, u64 addr) {
    struct rlimit64 lim = {0, 0};
    u64 page = RT_ROUND_DOWN(addr, RT_PAGE), hi = rt.stack_lo, size = rt.stack_top - hi;
    sys4(__NR_prlimit64, 0, RLIMIT_STACK, 0, (long)&lim);
    u64 most = rt.stack_top - rt.stack_end;
    if (lim.rlim_cur < most) most = RT_ROUND_DOWN(lim.rlim_cur, RT_PAGE);
    if (rt.stack_top - page > most) return false;
    if (size * 2 < most) most = size * 2;
    u64 lo = rt.stack_top - most < page ? rt.stack_top - most : page;
    struct rt_seg s = {.lo = lo, .hi = hi, .kind = RT_SEG_STACK};
    u32 i = mm_first(hi);
    s.prot = i < rt_nsegs && rt_segs[i].lo <= hi ? rt_segs[i].prot : PROT_READ | PROT_WRITE;
    if (!mm_is_free(lo, hi) ||
        mm_host_map(lo, hi - lo, s.prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) !=
            (long)lo)
        return false;
    mm_added(ts, &s, MM_SHADOW_APART);
    rt.stack_lo = lo;
    rt.chan->main_stack = rt.stack_top - lo;
    rt_hook_stack_grown(ts, lo, hi, rt.stack_top);
    return true;
}

static bool grow_mapping(struct tstate *ts, u64 addr) {
    u64 page = RT_ROUND_DOWN(addr, RT_PAGE);
    u32 i = mm_first(addr);
    if (i < rt_nsegs && rt_segs[i].lo > addr && (rt_segs[i].mflags & MM_GROWS) && rt_segs[i].lo - page <= GROW_LIMIT &&
        page >= GROW_GAP && mm_allowed(page, RT_PAGE) && (i == 0 || rt_segs[i - 1].hi + GROW_GAP <= page)) {
        struct rt_seg s = rt_segs[i];
        s.hi = s.lo;
        s.lo = page;
        if (mm_host_map(s.lo, s.hi - s.lo, s.prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
            (long)s.lo)
            return false;
        rt_segs[i].mflags &= (u16)~MM_GROWS; /* the new piece grows from now on */
        mm_added(ts, &s, MM_WITH_SHADOW);
        return true;
    }
    /* Another thread grew it meanwhile; a protected page is no business of ours. */
    return i < rt_nsegs && rt_segs[i].lo <= addr && (rt_segs[i].mflags & MM_GROWS) && rt_segs[i].lo == page &&
           rt_segs[i].prot != 0;
}

bool rt_overflows_stack(struct tstate *ts, u64 addr) {
    struct rt_seg seg;
    bool tracked = rt.flags & IP_C_SHADOW; /* ts->stack_lo is the end of any stack, not of the main one only */
    u64 end = tracked ? ts->stack_lo : rt.stack_lo;
    if (addr >= end || end - addr > FARTHEST || addr + 128 /* the red zone */ < ts->gpr[IP_RSP]) return false;
    if (rt_find_seg(addr, &seg)) return tracked && !seg.prot && seg.hi == ts->stack_lo; /* in the guard page */
    if (tracked) return true;
    rt_mm_lock();
    u32 i = mm_first(addr);
    bool main = i < rt_nsegs && rt_segs[i].kind == RT_SEG_STACK && ts->gpr[IP_RSP] < rt.stack_top;
    rt_mm_unlock();
    return main;
}

bool rt_grow_stack(struct tstate *ts, u64 addr) {
    rt_mm_lock();
    bool grown = addr < rt.stack_lo && addr >= rt.stack_end ? grow_main(ts, addr) : grow_mapping(ts, addr);
    rt_mm_unlock();
    return grown;
}
