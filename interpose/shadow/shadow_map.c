/* Shadow memory of the client's mappings: created, released and moved with them.
 *
 * V is not page aligned against the client (IP_V_CONST has an odd page
 * offset, docs/measurements.md, point 2), so two neighbouring mappings share the V page
 * at their border; an A page covers eight client pages.  Hence: pages wholly
 * inside a range are mapped and unmapped freely, border pages are created when
 * first needed, filled with 0xff, and never unmapped.
 */
#include <asm/unistd.h>

#include "heap/heap.h"
#include "runtime/seam.h"
#include "shadow/shadow.h"

#define NR_mmap              9
#define NR_mincore           27
#define NR_madvise           28
#define NR_munmap            11
#define NR_mremap            25
#define PROT_RW              3
#define MAP_PRIVATE          0x02
#define MAP_FIXED            0x10
#define MAP_ANON             0x20
#define MAP_NORESERVE        0x4000
#define MAP_FIXED_NOREPLACE  0x100000
#define MREMAP_MAYMOVE       1
#define MADV_DONTNEED_       4
#define MADV_POPULATE_WRITE_ 23
#define MREMAP_FIXED         2
#define EEXIST_NEG           (-17)

/* Below this, writing is cheaper than another kernel mapping. */
#define ONES_MIN (64ull << 10)
/* A range of 0xff beyond this would need too many kernel mappings. */
#define ONES_MAX (16ull << 30)
/* Ranges of HEAP_LARGE bytes and more have pages replaced instead of written.  When so many blocks with pages of their
 * own, of less, were filled, the V pages of the next one are made present in one call. */
#define FILLED_OFTEN 4
#define FILLED_MOST  8
/* Blocks of the heap up to this are marked in line: by words, by stores of 16 bytes, which need a register of the
 * program's, and by a string instruction, which takes some time to begin, but does not read what it overwrites. */
#define SMALL_BLOCK (16ull << 10)
#define WIDE_MIN    64
#define WIDE_MAX    2048

rt_lock_t sh_map_lock;
static u8 chunk_of[2][512]; /* sources for fault-tolerant fills: 0x00, 0xff */

static bool failed(long r) { return r < 0 && r >= -4095; }

void rt_shadow_init(struct tstate *ts) {
    (void)ts;
    if (!(rt.flags & IP_C_SHADOW)) return;
    sh_fill((u64)chunk_of[1], 0xff, sizeof chunk_of[1]);
    sh_ones_init();
}

static void map_anon(u64 at, u64 len) {
    long r = rt_host_map(at, len, PROT_RW, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | MAP_FIXED, -1);
    if (failed(r))
        rt_die("cannot map %lu bytes of shadow memory (errno %ld): raise the address-space limit "
               "or vm.max_map_count",
               len, -r);
}

/* Pages that were there when they were last needed, and that nobody has unmapped since: what comes and goes most often
 * comes again between the same neighbours.  Under sh_map_lock. */
static u64 there[64];
_Static_assert(sizeof there / sizeof *there == 1u << (64 - 58), "there_at");

/* Of a thread's stack the borders of the V bytes and those of the A bits lie powers of two apart. */
static u64 *there_at(u64 page) { return &there[page / RT_PAGE * 0x9e3779b97f4a7c15ull >> 58]; }

static void unmap_pages(u64 first, u64 last) {
    u64 n = (last - first) / RT_PAGE;
    for (u64 i = 0; i < n && i < sizeof there / sizeof *there; i++) {
        u64 *at = n < sizeof there / sizeof *there ? there_at(first + i * RT_PAGE) : &there[i];
        if (*at >= first && *at < last) *at = 0;
    }
    sys2(NR_munmap, (long)first, (long)(last - first));
}

/* Whole pages [at, at+len) hold `fill` from now on. */
static void map_pages(u64 at, u64 len, int fill) {
    if (len == RT_PAGE) { /* most often one of A bits, which was filled with ones, not unmapped */
        if (*there_at(at) != at) map_anon(at, len);
        if (fill || *there_at(at) == at) sh_fill(at, fill, len);
        *there_at(at) = at;
        return;
    }
    if (fill == 0 || len <= ONES_MIN || len > ONES_MAX) {
        map_anon(at, len);
        if (fill && len <= ONES_MIN) sh_fill(at, 0xff, len);
        return; /* beyond ONES_MAX only definedness is lost, never a false report */
    }
    sh_map_ones(at, len);
}

/* A border page: exists afterwards; what nobody has claimed reads 0xff. */
static void need_page(u64 page) {
    u8 resident;
    if (*there_at(page) == page) return;
    *there_at(page) = page;
    if (sys3(NR_mincore, (long)page, RT_PAGE, (long)&resident) == 0) return; /* a third of what the map would take */
    long r = rt_host_map(page, RT_PAGE, PROT_RW, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1);
    if (r == (long)page)
        sh_fill(page, 0xff, RT_PAGE);
    else if (!failed(r)) /* kernel without NOREPLACE chose another place: it exists */
        sys2(NR_munmap, r, RT_PAGE);
    else if (r != EEXIST_NEG)
        rt_die("cannot map a page of shadow memory (errno %ld)", -r);
}

/* Shadow bytes [lo, hi) are mapped and hold fill. */
static void range_map(u64 lo, u64 hi, int fill) {
    u64 first = RT_ROUND_UP(lo, RT_PAGE), last = RT_ROUND_DOWN(hi, RT_PAGE);
    if (first > last) { /* inside one page */
        need_page(last);
        sh_fill(lo, fill, hi - lo);
        return;
    }
    if (lo < first) {
        need_page(first - RT_PAGE);
        sh_fill(lo, fill, first - lo);
    }
    if (last < hi) {
        need_page(last);
        sh_fill(last, fill, hi - last);
    }
    if (first < last) map_pages(first, last - first, fill);
}

/* Fill shadow bytes of which some may not exist. */
static void fill_safe(u64 lo, u64 hi, int fill) {
    const u8 *src = chunk_of[fill != 0];
    for (u64 n; lo < hi; lo += n) {
        n = sizeof chunk_of[0] - (lo & (sizeof chunk_of[0] - 1)); /* never across a page */
        if (n > hi - lo) n = hi - lo;
        if (rt_copy_to(lo, src, n) < 0) {
            u64 next = RT_ROUND_DOWN(lo, RT_PAGE) + RT_PAGE;
            n = (next < hi ? next : hi) - lo;
        }
    }
}

void sh_undefine(u64 lo, u64 hi) {
    if (lo < hi && hi <= IP_CLIENT_END) fill_safe(sh_v(lo), sh_v(hi), 0xff);
}

static void range_release(u64 lo, u64 hi) {
    u64 first = RT_ROUND_UP(lo, RT_PAGE), last = RT_ROUND_DOWN(hi, RT_PAGE);
    if (first >= last) {
        fill_safe(lo, hi, 0xff);
        return;
    }
    fill_safe(lo, first, 0xff);
    fill_safe(last, hi, 0xff);
    unmap_pages(first, last);
}

static int v_fill(int state) { return state == RT_SH_DEFINED ? 0 : 0xff; }
static int a_fill(int state) { return state == RT_SH_NOACCESS ? 0xff : 0; }

static bool in_client(u64 addr, u64 len) { return len && addr < IP_CLIENT_END && len <= IP_CLIENT_END - addr; }

void rt_shadow_mapped(u64 addr, u64 len, int state) {
    if (!(rt.flags & IP_C_SHADOW) || !in_client(addr, len)) return;
    rt_lock(&sh_map_lock);
    range_map(sh_v(addr), sh_v(addr + len), v_fill(state));
    range_map(sh_a(addr), sh_a(addr + len), a_fill(state));
    rt_unlock(&sh_map_lock);
}

/* Nothing of the page is known to be addressable.  (Border pages of the shadow exist, and read so.) */
static bool is_dark(u64 page) {
    u64 bits;
    return sh_read(&bits, sh_a(page), 8) < 0 || bits == ~0ull;
}

/* Is nothing at all mapped there?  (Whole pages.) */
static bool is_absent(u64 lo, u64 hi) {
    long r = sys6(NR_mmap, (long)lo, (long)(hi - lo), 0, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                  -1, 0);
    if (!failed(r)) sys2(NR_munmap, r, (long)(hi - lo));
    return r == (long)lo;
}

/* Long ranges by halves, because most of them have no shadow at all: a page of A bits is for eight pages. */
void rt_shadow_opened(u64 addr, u64 len) {
    u64 lo = RT_ROUND_UP(addr, 8 * RT_PAGE), hi = RT_ROUND_DOWN(addr + len, 8 * RT_PAGE);
    if (len >= HEAP_LARGE && is_absent(sh_a(lo), sh_a(hi))) {
        rt_shadow_mapped(lo, hi - lo, RT_SH_DEFINED);
        rt_shadow_opened(addr, lo - addr);
        rt_shadow_opened(hi, addr + len - hi);
        return;
    }
    if (len >= HEAP_LARGE) {
        u64 half = RT_ROUND_DOWN(len / 2, 8 * RT_PAGE);
        rt_shadow_opened(addr, half);
        rt_shadow_opened(addr + half, len - half);
        return;
    }
    for (u64 end = addr + len, next; addr < end; addr = next) {
        bool dark = is_dark(addr);
        for (next = addr + RT_PAGE; next < end && is_dark(next) == dark;) next += RT_PAGE;
        if (dark) rt_shadow_mapped(addr, next - addr, RT_SH_DEFINED);
    }
}

void rt_shadow_unmapped(u64 addr, u64 len) {
    if (!(rt.flags & IP_C_SHADOW) || !in_client(addr, len)) return;
    rt_lock(&sh_map_lock);
    range_release(sh_v(addr), sh_v(addr + len));
    range_release(sh_a(addr), sh_a(addr + len));
    rt_unlock(&sh_map_lock);
    rt_stack_forget(addr, addr + len);
}

/* Copy shadow bytes, touching destination pages only where they differ. */
static void copy_sparse(u64 to, u64 from, u64 n) {
    for (u64 k; n; to += k, from += k, n -= k) {
        k = RT_PAGE - (to & (RT_PAGE - 1));
        if (k > n) k = n;
        if (memcmp((void *)to, (void *)from, k) != 0) sh_copy(to, from, k);
    }
}

void rt_shadow_moved(u64 from, u64 to, u64 len) {
    if (!(rt.flags & IP_C_SHADOW) || !in_client(from, len) || !in_client(to, len)) return;
    rt_lock(&sh_map_lock);
    u64 lo = sh_v(from), hi = sh_v(from + len), off = to - from;
    u64 first = RT_ROUND_UP(lo, RT_PAGE), last = RT_ROUND_DOWN(hi, RT_PAGE);
    range_map(lo + off, hi + off, 0);
    range_map(sh_a(to), sh_a(to + len), 0);
    copy_sparse(sh_a(to), sh_a(from), len >> 3);
    if (first < last) {
        long r = -1;
        bool moves = last - first > ONES_MIN; /* one kernel mapping: move its pages */
        if (moves)
            r = sys5(NR_mremap, (long)first, (long)(last - first), (long)(last - first), MREMAP_MAYMOVE | MREMAP_FIXED,
                     (long)(first + off));
        if (r != (long)(first + off)) {
            if (moves) map_anon(first + off, last - first);
            copy_sparse(first + off, first, last - first);
        }
        copy_sparse(lo + off, lo, first - lo);
        copy_sparse(last + off, last, hi - last);
    } else {
        copy_sparse(lo + off, lo, hi - lo);
    }
    range_release(lo, hi);
    range_release(sh_a(from), sh_a(from + len));
    rt_unlock(&sh_map_lock);
    rt_stack_forget(from, from + len);
}

/* Set bits [addr, addr+len) of A only (1 = unaddressable); the shadow must be mapped.  Partial bytes are shared with
 * neighbours that another thread may be changing, hence the locked forms. */
static void sh_set_a(u64 addr, u64 len, int bit) {
    u64 end = addr + len, p = sh_a(addr), q = sh_a(end);
    u8 head = (u8)(0xff << (addr & 7)), tail = (u8) ~(0xff << (end & 7));
    if (!len) return;
    if (p == q) {
        head &= tail;
        tail = 0;
    }
    if (head != 0xff || p == q) {
        if (bit)
            __atomic_fetch_or((u8 *)p, head, __ATOMIC_RELAXED);
        else
            __atomic_fetch_and((u8 *)p, (u8)~head, __ATOMIC_RELAXED);
        if (p == q) return;
        p++;
    }
    u8 fill = bit ? 0xff : 0;
    if (q - p >= HEAP_LARGE / 8) {
        rt_lock(&sh_map_lock);
        range_map(p, q, fill);
        rt_unlock(&sh_map_lock);
    } else {
        sh_fill(p, fill, q - p);
    }
    if (tail) {
        if (bit)
            __atomic_fetch_or((u8 *)q, tail, __ATOMIC_RELAXED);
        else
            __atomic_fetch_and((u8 *)q, (u8)~tail, __ATOMIC_RELAXED);
    }
}

/* All of [p, p + n) becomes zero or ones; n is 16 at least.  XMM0, which is the program's, is as it was afterwards. */
static inline void fill_wide(u64 p, u64 n, bool ones) {
    u64 keep[2], end = p + n, last = end - 64;
#define WIDE_FILL(value)                                                                                               \
    __asm__ volatile("movups %%xmm0, %[keep]\n\t" value " %%xmm0, %%xmm0\n\t"                                          \
                     "cmp %[last], %[p]\n\tja 2f\n"                                                                    \
                     "1:\tmovups %%xmm0, (%[p])\n\tmovups %%xmm0, 16(%[p])\n\t"                                        \
                     "movups %%xmm0, 32(%[p])\n\tmovups %%xmm0, 48(%[p])\n\t"                                          \
                     "add $64, %[p]\n\tcmp %[last], %[p]\n\tjbe 1b\n"                                                  \
                     "2:\tadd $48, %[last]\n\tcmp %[last], %[p]\n\tja 4f\n"                                            \
                     "3:\tmovups %%xmm0, (%[p])\n\tadd $16, %[p]\n\tcmp %[last], %[p]\n\tjbe 3b\n"                     \
                     "4:\tmovups %%xmm0, -16(%[end])\n\tmovups %[keep], %%xmm0"                                        \
                     : [p] "+&r"(p), [last] "+&r"(last), [keep] "=&m"(keep)                                            \
                     : [end] "r"(end)                                                                                  \
                     : "cc", "memory")
    if (ones)
        WIDE_FILL("pcmpeqd");
    else
        WIDE_FILL("pxor");
#undef WIDE_FILL
}

/* n V bytes or bytes of A bits, a multiple of 8. */
static inline void fill_words(u64 p, u64 n, bool ones) {
    const u64 word = ones ? ~0ull : 0;
    if (n > WIDE_MAX)
        sh_fill(p, ones ? 0xff : 0, n);
    else if (n >= WIDE_MIN)
        fill_wide(p, n, ones);
    else
        for (u64 end = p + n; p < end; p += 8) memcpy((void *)p, &word, 8);
}

/* Of a block of the heap, which shares no byte of A bits with another one: red zones lie between them.  The memory is
 * mapped; short ones are the most frequent by far. */
static inline void set_a_of_block(u64 addr, u64 len, bool bit) {
    const u64 word = bit ? ~0ull : 0;
    u64 words = len / 64 * 8;
    u8 *p = (u8 *)sh_a(addr);
    fill_words((u64)p, words, bit);
    p += words;
    if (len & 32) memcpy(p, &word, 4), p += 4;
    if (len & 16) memcpy(p, &word, 2), p += 2;
    if (len & 8) *p++ = (u8)word;
    u8 tail = (u8)((1u << (len & 7)) - 1);
    if (tail) *p = bit ? *p | tail : *p & (u8)~tail;
}

/* Whether V pages were made present, and not given back since: a bit for so many bytes, by their address, in which
 * others far away share.  What it says wrongly costs a call or faults; so nothing is locked. */
#define UNIT  (64ull << 10)
#define UNITS (64u << 10)
static u8 present[UNITS / 8];

static bool is_present(u64 lo, u64 hi) {
    for (u64 at = lo / UNIT; at <= (hi - 1) / UNIT; at++)
        if (!(present[at % UNITS / 8] & 1 << at % 8)) return false;
    return true;
}

static void note_present(u64 lo, u64 hi, bool are) {
    for (u64 at = lo / UNIT; at <= (hi - 1) / UNIT; at++) {
        u8 *byte = &present[at % UNITS / 8], bit = (u8)(1 << at % 8);
        *byte = are ? *byte | bit : *byte & (u8)~bit;
    }
}

void sh_make_present(u64 addr, u64 len) {
    u64 lo = RT_ROUND_UP(sh_v(addr), RT_PAGE), hi = RT_ROUND_DOWN(sh_v(addr + len), RT_PAGE);
    if (is_present(lo, hi)) return; /* to see that by the call takes 10 us for 50 KB */
    sys3(NR_madvise, (long)lo, (long)(hi - lo), MADV_POPULATE_WRITE_);
    note_present(lo, hi, true);
}

static bool has_span(u64 len) { return len >= HEAP_SMALL && len < HEAP_LARGE; }

/* How often blocks of about this length were written to their ends lately. */
static u8 *filled_of(u64 len) {
    static u8 filled[8];
    return &filled[63 - __builtin_clzll(len / HEAP_SMALL)];
}
_Static_assert(HEAP_LARGE / HEAP_SMALL == 1 << 7, "filled_of");

static __attribute__((noinline)) void large_allocated(u64 addr, u64 len, bool defined) {
    if (has_span(len) && (defined || *filled_of(len) >= FILLED_OFTEN)) sh_make_present(addr, len);
    if (defined)
        sh_set_mapped(addr, len, RT_SH_DEFINED);
    else
        sh_set_a(addr, len, 0);
    if (!defined && len >= HEAP_LARGE) sh_note_large(sh_v(addr), sh_v(addr + len));
}

void sh_block_allocated(u64 addr, u64 len, bool defined) {
    if (addr & 7 || len > SMALL_BLOCK) {
        large_allocated(addr, len, defined);
        return;
    }
    if (defined) {
        u64 words = len & ~7ull, rest = ~0ull << 8 * (len & 7); /* what lies behind is red zone */
        fill_words(sh_v(addr), words, false);
        if (len & 7) memcpy((void *)sh_v(addr + words), &rest, 8);
    }
    set_a_of_block(addr, len, false);
}

/* Pages from which another mapping is better than a copy of each. */
#define MAP_PAGES 8

/* Pages of V bytes are given back: shared pages of ones show again, unless a request of the program's or alike.c has
 * put others there, of which nothing is left.  Ones are in the page cache; to read each page would be a fault for each.
 */
static void give_back_ones(u64 lo, u64 hi) {
    u8 cached[64], v;
    sys3(NR_madvise, (long)lo, (long)(hi - lo), MADV_DONTNEED_);
    note_present(lo, hi, false);
    for (u64 n; lo < hi; lo += n) {
        n = hi - lo < sizeof cached * RT_PAGE ? hi - lo : sizeof cached * RT_PAGE;
        bool known = sys3(NR_mincore, (long)lo, (long)n, (long)cached) == 0;
        for (u64 i = 0, k; i < n / RT_PAGE; i = k) {
            u64 page = lo + i * RT_PAGE;
            for (k = i; k < n / RT_PAGE && !(known && cached[k] & 1);) k++;
            if (k == i) {
                k++;
            } else if (known && k - i >= MAP_PAGES) {
                sh_map_some_ones(page, (k - i) * RT_PAGE);
            } else {
                k = i + 1;
                if (!sh_read(&v, page, 1) && v != 0xff) sh_fill(page, 0xff, RT_PAGE);
            }
        }
    }
}

static __attribute__((noinline)) void span_released(u64 addr, u64 len) {
    u64 lo = sh_v(addr), hi = sh_v(addr + len), first = RT_ROUND_UP(lo, RT_PAGE), last = RT_ROUND_DOWN(hi, RT_PAGE);
    u8 *filled = filled_of(len);
    if (*(const volatile u8 *)(last - 1) == 0xff)
        *filled /= 2;
    else if (*filled < FILLED_MOST)
        ++*filled;
    sh_fill(lo, 0xff, first - lo);
    give_back_ones(first, last);
    sh_fill(last, 0xff, hi - last);
    sh_set_a(addr, len, 1);
}

void sh_block_released(u64 addr, u64 len, bool idle) {
    if (idle && has_span(len)) {
        span_released(addr, len);
        return;
    }
    if (addr & 7 || len > SMALL_BLOCK) {
        sh_set_mapped(addr, len, RT_SH_NOACCESS);
        return;
    }
    /* What lies behind, up to the next word, is red zone, and undefined as well. */
    fill_words(sh_v(addr), RT_ROUND_UP(len, 8), true);
    set_a_of_block(addr, len, true);
}

/* words: a multiple of 8. */
static bool is_ones(const u64 *p, u64 words) {
    u64 all = p[0] & p[words / 2] & p[words - 1];
    for (u64 i = 0; i < words && all == ~0ull; i += 8)
        all &= p[i] & p[i + 1] & p[i + 2] & p[i + 3] & p[i + 4] & p[i + 5] & p[i + 6] & p[i + 7];
    return all == ~0ull;
}

static bool holds(u64 p, u64 n, int fill) {
    return fill ? n == RT_PAGE && is_ones((const u64 *)p, RT_PAGE / 8) : sh_is_zero(p, p + n);
}

/* By pages, because most of them hold that throughout, and one that was never touched is to stay so. */
static void fill_by_pages(u64 p, u64 n, int fill) {
    for (u64 k; n; p += k, n -= k) {
        k = RT_PAGE - (p & (RT_PAGE - 1));
        if (k > n) k = n;
        if (!holds(p, k, fill)) sh_fill(p, fill, k);
    }
}

void sh_zero(u64 p, u64 n) { fill_by_pages(p, n, 0); }

bool sh_is_nobodys(u64 page) {
    u64 bits[RT_PAGE / 64];
    return sh_read(bits, sh_a(page - IP_V_CONST), sizeof bits) == 0 && is_ones(bits, RT_PAGE / 64);
}

void sh_idle(u64 addr, u64 len) {
    u64 page = RT_ROUND_UP(sh_v(addr), RT_PAGE), end = RT_ROUND_DOWN(sh_v(addr + len), RT_PAGE);
    for (u64 lo = page; page < end; lo = page += RT_PAGE) {
        while (page < end && sh_is_nobodys(page)) page += RT_PAGE;
        if (page <= lo) continue;
        give_back_ones(lo, page);
    }
}

static void set_v(u64 addr, u64 len, int fill) {
    u64 p = sh_v(addr);
    if (len >= HEAP_LARGE) {
        rt_lock(&sh_map_lock);
        range_map(p, p + len, fill);
        sh_forget_large(p, p + len);
        rt_unlock(&sh_map_lock);
    } else if (len > SMALL_BLOCK && fill) {
        fill_by_pages(p, len, 0xff); /* it may never have been filled to its end */
    } else {
        sh_fill(p, fill, len);
    }
}

void sh_define(u64 addr, u64 len) {
    u64 end = addr + len;
    for (u64 n; addr < end; addr += n) {
        n = sh_piece(addr, end - addr);
        if (sh_is_large(addr)) {
            if (n >= RT_PAGE && sh_is_zero(sh_v(addr), sh_v(addr + n))) continue;
            if (n == SH_CHUNK && sh_exchange(sh_v(addr))) continue;
        }
        fill_safe(sh_v(addr), sh_v(addr + n), 0);
        sh_settled(addr, n);
    }
}

void sh_set_mapped(u64 addr, u64 len, int state) {
    set_v(addr, len, v_fill(state));
    sh_set_a(addr, len, state == RT_SH_NOACCESS);
}

/* V bytes of which some may not exist.  A large range that exists throughout (its ends do) is replaced. */
static void set_v_safely(u64 addr, u64 len, int state) {
    u8 b;
    if (len >= HEAP_LARGE && !sh_read(&b, sh_v(addr), 1) && !sh_read(&b, sh_v(addr + len - 1), 1))
        set_v(addr, len, v_fill(state));
    else if (state == RT_SH_DEFINED)
        sh_define(addr, len);
    else
        fill_safe(sh_v(addr), sh_v(addr + len), 0xff);
}

void rt_shadow_set(u64 addr, u64 len, int state) {
    if (!(rt.flags & IP_C_SHADOW) || !in_client(addr, len)) return;
    u64 end = addr + len;
    if (state == RT_SH_NOACCESS) /* V first: no byte is ever "addressable, unmarked" */
        set_v_safely(addr, len, state);
    /* Head and tail bits one at a time, whole A bytes in bulk. */
    for (; addr < end && (addr & 7); addr++) {
        u8 b;
        if (sh_read(&b, sh_a(addr), 1) == 0) sh_set_a(addr, 1, state == RT_SH_NOACCESS);
    }
    u64 mid = RT_ROUND_DOWN(end, 8);
    if (mid > addr) {
        if (mid - addr < 8 * RT_PAGE || state == RT_SH_NOACCESS || !sh_is_zero(sh_a(addr), sh_a(mid)))
            fill_safe(sh_a(addr), sh_a(mid), a_fill(state));
        addr = mid;
    }
    for (; addr < end; addr++) {
        u8 b;
        if (sh_read(&b, sh_a(addr), 1) == 0) sh_set_a(addr, 1, state == RT_SH_NOACCESS);
    }
    if (state != RT_SH_NOACCESS) set_v_safely(end - len, len, state);
}

void rt_shadow_set_mapped(u64 addr, u64 len, int state) {
    struct rt_seg seg;
    u64 end = addr + len < addr ? ~0ull : addr + len;
    for (u64 at = addr; at < end && rt_next_seg(at, &seg) && seg.lo < end; at = seg.hi) {
        u64 lo = at > seg.lo ? at : seg.lo, hi = seg.hi < end ? seg.hi : end;
        rt_shadow_set(lo, hi - lo, state);
    }
}

/* Has the program painted the stack, to find out later how deep it was?  Then each word of its lowest page is defined,
 * and none is zero.  Pages that are not there are not asked for: they may be userfaultfd's. */
static bool is_filled(u64 lo, u64 sp) {
    u64 word[32], page = RT_ROUND_UP(lo, RT_PAGE);
    u8 there;
    if (page + RT_PAGE > sp || !sh_is_zero(sh_v(page), sh_v(page + sizeof word))) return false;
    if (sys3(__NR_mincore, (long)page, RT_PAGE, (long)&there) < 0 || !(there & 1)) return false;
    for (u64 at = page; at < page + RT_PAGE; at += sizeof word) {
        if (!sh_is_zero(sh_v(at), sh_v(at + sizeof word)) || rt_copy_from(word, at, sizeof word) != 0) return false;
        for (u32 i = 0; i < sizeof word / 8; i++)
            if (!word[i]) return false;
    }
    return true;
}

bool rt_shadow_stack(u64 lo, u64 hi, u64 sp) {
    if (!(rt.flags & IP_C_SHADOW) || !in_client(lo, hi - lo) || sp < lo || sp > hi) return false;
    if (is_filled(lo, sp)) {
        rt_stack_register(lo, hi, true);
        return true;
    }
    rt_lock(&sh_map_lock);
    if (sp > lo) range_map(sh_v(lo), sh_v(sp), 0xff);
    /* What lies above belongs to whoever had it (a stack inside a block). */
    range_map(sh_a(RT_ROUND_DOWN(lo, 8)), sh_a(RT_ROUND_UP(sp, 8)), 0);
    rt_unlock(&sh_map_lock);
    rt_stack_register(lo, hi, false);
    return false;
}
