/* Writable pages that hold translated code.  Their W bit is taken away on the
 * host; the first write faults, drops the translations and gets W back.  The
 * kernel's own writes (read(2) into such a page) would fail with EFAULT instead
 * of faulting, so system calls open their output buffers first.
 *
 * A shared mapping may be written by other processes, and what a private mapping
 * of a file shows by any write to the file: where that is to be expected, blocks
 * compare their bytes instead.  Private code of a file that this process maps
 * writable elsewhere is watched there.
 */
#include <asm/unistd.h>
#include <linux/mman.h>

#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/memory/mm.h"
#include "runtime/syscalls/syscall.h"

#define MAX_CODE_PAGES (1u << 20)
#define __NR_mseal_    462 /* Linux 6.10 */
/* Each run of such pages may make two mappings more of one, of 65,530 that the kernel allows (vm.max_map_count). */
#define MAX_RUNS 8192u
#define RECENT   256u

/* Sorted page addresses: range queries are as frequent as single ones. */
static u64 *pages;
static u32 n_pages, n_runs;
/* Pages opened lately: a second thread's fault on the same write may arrive after. */
static u64 recent[RECENT];
static u32 recent_at;

bool rt_program_brings_pages;

long rt_sys_userfaultfd(struct tstate *ts) {
    rt_program_brings_pages = true;
    return sys1(__NR_userfaultfd, (long)ts->gpr[IP_RDI]);
}

static u32 first_page(u64 addr) {
    u32 lo = 0, hi = n_pages;
    while (lo < hi) {
        u32 mid = lo + (hi - lo) / 2;
        if (pages[mid] >= addr)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Is the page at i the next one behind that at i - 1?  Else a run of pages begins there. */
static bool follows(u32 i) { return i > 0 && i < n_pages && pages[i] == pages[i - 1] + RT_PAGE; }

static void add_page(u32 i, u64 page) {
    memmove(&pages[i + 1], &pages[i], (n_pages - i) * sizeof *pages);
    pages[i] = page;
    __atomic_store_n(&n_pages, n_pages + 1, __ATOMIC_RELEASE);
    n_runs = n_runs + !follows(i) - follows(i + 1);
}

static void remove_pages(u32 first, u32 end) {
    if (first == end) return;
    for (u32 i = first; i < end; i++) n_runs -= !follows(i);
    n_runs += follows(end);
    memmove(&pages[first], &pages[end], (n_pages - end) * sizeof *pages);
    __atomic_store_n(&n_pages, n_pages - (end - first), __ATOMIC_RELEASE);
}

/* Host protection of one page as its segment asks for it; false: the kernel refuses another mapping. */
static bool set_host_write(u64 page, bool writable) {
    u32 i = mm_first(page);
    if (i >= rt_nsegs || rt_segs[i].lo > page) return true;
    u32 host = mm_host_prot(rt_segs[i].prot);
    if (!writable) host &= ~(u32)PROT_WRITE;
    return sys3(__NR_mprotect, (long)page, RT_PAGE, host) == 0;
}

/* False: writes to the page will not be noticed. */
static bool watch(u64 page) {
    if (pages == NULL) pages = rt_pages(MAX_CODE_PAGES * sizeof *pages);
    u32 i = first_page(page);
    if (i < n_pages && pages[i] == page) return true;
    if (n_pages == MAX_CODE_PAGES) return false;
    add_page(i, page);
    if (n_runs <= MAX_RUNS && set_host_write(page, false)) return true;
    remove_pages(i, i + 1);
    return false;
}

/* Another mapping of what s shows at [lo, hi): that part of it. */
static bool alias(const struct rt_seg *s, const struct rt_seg *t, u64 lo, u64 hi, u64 *at, u64 *len) {
    /* What a private mapping of a file shows changes with the file. */
    if (s == t || !((s->mflags | t->mflags) & MM_SHARED) || s->ino == 0 || t->kind != s->kind || t->dev != s->dev ||
        t->ino != s->ino)
        return false;
    u64 from = s->off + (lo - s->lo), to = s->off + (hi - s->lo), end = t->off + (t->hi - t->lo);
    if (from < t->off) from = t->off;
    if (to > end) to = end;
    if (from >= to) return false;
    *at = t->lo + (from - t->off);
    *len = to - from;
    return true;
}

/* Drop what was translated from other mappings of [lo, hi). */
static void invalidate_aliases(struct tstate *ts, u64 lo, u64 hi) {
    for (u32 i = mm_first(lo); i < rt_nsegs && rt_segs[i].lo < hi; i++) {
        const struct rt_seg *s = &rt_segs[i];
        u64 a = s->lo > lo ? s->lo : lo, b = s->hi < hi ? s->hi : hi, at, len;
        if (!(s->mflags & MM_SHARED)) continue;
        for (u32 k = 0; k < rt_nsegs; k++)
            if (alias(s, &rt_segs[k], a, b, &at, &len)) rt_invalidate_written(ts, at, len);
    }
}

void mm_writable_alias(struct tstate *ts, const struct rt_seg *s) {
    if ((s->mflags & MM_SHARED) && (s->prot & PROT_WRITE) && s->kind != RT_SEG_STACK)
        for (u32 k = 0; k < rt_nsegs; k++) {
            u64 at, len;
            if ((rt_segs[k].prot & PROT_EXEC) && rt_segs[k].lo != s->lo &&
                alias(s, &rt_segs[k], s->lo, s->hi, &at, &len))
                rt_invalidate(ts, at, len);
        }
}

bool mm_written_elsewhere(const struct rt_seg *s) {
    for (u32 k = 0; k < rt_nsegs; k++) {
        u64 at, len;
        if ((rt_segs[k].prot & PROT_WRITE) && (rt_segs[k].mflags & MM_SHARED) &&
            alias(s, &rt_segs[k], s->lo, s->hi, &at, &len))
            return true;
    }
    return false;
}

void rt_protect_code_page(struct tstate *ts, u64 page) {
    page = RT_ROUND_DOWN(page, RT_PAGE);
    rt_mm_lock();
    u32 i = mm_first(page);
    if (i < rt_nsegs && rt_segs[i].lo <= page) {
        const struct rt_seg *s = &rt_segs[i];
        bool unnoticed = mm_unnoticed(s);
        u64 at, len;
        if ((s->prot & PROT_WRITE) && !unnoticed) unnoticed = !watch(page);
        if (s->kind == RT_SEG_FILE && !unnoticed)
            for (u32 k = 0; k < rt_nsegs; k++)
                if ((rt_segs[k].prot & PROT_WRITE) && (rt_segs[k].mflags & MM_SHARED) &&
                    alias(s, &rt_segs[k], page, page + RT_PAGE, &at, &len))
                    unnoticed |= !watch(at);
        rt_watched_page(ts, page, unnoticed); /* under the lock: nobody gives W back meanwhile */
    }
    rt_mm_unlock();
}

bool mm_forget_code_pages(u64 lo, u64 hi, bool restore) {
    if (n_pages == 0) return false;
    u32 first = first_page(lo), end = first_page(hi);
    for (u32 i = first; i < end; i++) {
        if (!restore) continue;
        set_host_write(pages[i], true);
        recent[recent_at++ % RECENT] = pages[i];
    }
    remove_pages(first, end);
    return end > first;
}

static bool have_pages(u64 lo, u64 hi) {
    u32 i = n_pages ? first_page(lo) : 0;
    return i < n_pages && pages[i] < hi;
}

/* Where to begin to give W back: to part a run of pages makes mappings more, to shorten it does not. */
static u64 open_from(u64 lo) {
    u32 i = first_page(lo);
    if (n_runs <= MAX_RUNS || i == n_pages || pages[i] != lo) return lo;
    while (follows(i)) i--;
    return pages[i];
}

/* W comes back when nothing is left that a write would make stale.  Under the lock. */
static void open_code_pages(struct tstate *ts, u64 lo, u64 hi) {
    if (!have_pages(lo, hi)) return;
    lo = open_from(lo);
    rt_invalidate_written(ts, lo, hi - lo);
    invalidate_aliases(ts, lo, hi);
    mm_forget_code_pages(lo, hi, true);
}

bool rt_code_page_fault(struct tstate *ts, u64 addr) {
    u64 page = RT_ROUND_DOWN(addr, RT_PAGE);
    if (addr >= rt_client_end()) return false;
    rt_mm_lock();
    bool ours = have_pages(page, page + RT_PAGE);
    if (ours) {
        open_code_pages(ts, page, page + RT_PAGE);
    } else {
        u32 s = mm_first(page);
        bool writable = s < rt_nsegs && rt_segs[s].lo <= page && (rt_segs[s].prot & PROT_WRITE);
        for (u32 i = 0; writable && i < RECENT && !ours; i++) ours = recent[i] == page;
    }
    rt_mm_unlock();
    return ours;
}

bool rt_have_code_pages(void) { return __atomic_load_n(&n_pages, __ATOMIC_ACQUIRE) != 0; }

void rt_open_code_pages(struct tstate *ts, u64 addr, u64 len) {
    if (len == 0 || !rt_have_code_pages()) return;
    u64 lo = RT_ROUND_DOWN(addr, RT_PAGE), hi = RT_ROUND_UP(addr + len, RT_PAGE);
    if (lo >= rt_client_end()) return;
    if (hi <= lo) hi = rt_client_end(); /* absurd length: the kernel will judge it */
    rt_mm_lock();
    open_code_pages(ts, lo, hi);
    rt_mm_unlock();
}

/* What is sealed keeps its protection, also from us: pages get W back before, and blocks made there later compare
 * their bytes, for watch fails. */
long rt_sys_mseal(struct tstate *ts) {
    u64 lo = ts->gpr[IP_RDI], len = RT_ROUND_UP(ts->gpr[IP_RSI], RT_PAGE);
    long flags = (long)ts->gpr[IP_RDX];
    bool some = lo + len > lo;
    if (some && !mm_allowed(lo, len)) return mm_refused(__NR_mseal_, lo, flags);
    rt_mm_lock();
    if (some) open_code_pages(ts, RT_ROUND_DOWN(lo, RT_PAGE), lo + len);
    long r = sys3(__NR_mseal_, (long)lo, (long)ts->gpr[IP_RSI], flags);
    if (r == 0) mm_sealed(lo, lo + len);
    rt_mm_unlock();
    return r;
}
