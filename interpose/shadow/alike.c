/* V bytes that are the same in many spans of the heap are kept once.
 *
 * Where all blocks of a span have one size, live and are defined, its V bytes are a pattern: zeros for each block, ones
 * between them.  A pattern that is met a second time is written to the file of shared pages, and private mappings of
 * that take the place of the spans' own pages.  What is stored there later is stored to copies, as anywhere else.
 * Of a block with a span of its own they are zero, which pages are that nobody ever wrote.
 *
 * Only pages that lie wholly in a span, for the others belong to its neighbours, too.  Only while there is one thread:
 * between the look and the exchange another one might copy undefined bytes there.  A span that ends is one of shared
 * pages of ones again: who gives pages back relies on those.
 */
#include "shadow/shadow.h"

#define NR_mmap                     9
#define PROT_RW                     3
#define MAP_SHARED_                 0x01
#define MAP_PRIVATE_NORESERVE_FIXED 0x4012
#define MAP_ANON                    0x20

/* The kernel counts mappings (vm.max_map_count), and a span between others is two. */
#define SPANS_MOST 4096
/* Met once; the oldest makes room. */
#define MET 64

struct pattern {
    u64 bytes, len, stride, offset, size; /* of a span, its whole pages of V bytes, a cell, and a block in its cell */
    u64 text, at;                         /* where it is read, and its place in the file; 0: it was met once */
};
static struct pattern made[SH_PATTERNS], met[MET];
static u32 n_made, next_met, n_spans;
static u32 *in_file; /* the places taken in the file, which the children of forks share */
static bool no_more; /* the file is another one by now */

void sh_no_patterns(void) { no_more = true; }

static long map(u64 at, u64 len, int prot, int flags, u64 place) {
    return sys6(NR_mmap, (long)at, (long)len, prot, flags, flags & MAP_ANON ? -1 : rt.shadow_fd, (long)place);
}

static bool is(const struct pattern *p, const struct pattern *q) {
    return p->bytes == q->bytes && p->stride == q->stride && p->offset == q->offset && p->size == q->size;
}

/* before: V bytes of the span that lie before the first page. */
static bool make(struct pattern *p, u64 before) {
    if (!in_file) {
        long r = map(0, RT_PAGE, PROT_RW, MAP_SHARED_, SH_PATTERNS_AT);
        if (r < 0 && r >= -4095) return false;
        in_file = (u32 *)r;
    }
    if (__atomic_load_n(in_file, __ATOMIC_RELAXED) >= SH_PATTERNS) return false;
    u32 k = __atomic_fetch_add(in_file, 1, __ATOMIC_RELAXED);
    if (k >= SH_PATTERNS) return false;
    u64 place = SH_PATTERNS_AT + (k + 1) * SH_PATTERN_LEN;
    long r = map(0, p->len, PROT_RW, MAP_SHARED_, place);
    if (r < 0 && r >= -4095) return false;
    sh_fill((u64)r, 0xff, p->len);
    for (u64 lo = p->offset; lo < p->bytes / p->stride * p->stride; lo += p->stride) {
        u64 from = lo > before ? lo - before : 0, to = lo + p->size > before ? lo + p->size - before : 0;
        if (to > p->len) to = p->len;
        if (from < to) sh_fill((u64)r + from, 0, to - from);
    }
    p->text = (u64)r;
    p->at = place;
    return true;
}

/* The pattern, if it can be had: NULL, it is met for the first time, or there are too many. */
static const struct pattern *find(const struct pattern *wanted, u64 before) {
    for (u32 i = 0; i < n_made; i++)
        if (is(made + i, wanted)) return made + i;
    for (u32 i = 0; i < MET; i++) {
        if (!is(met + i, wanted)) continue;
        if (n_made == SH_PATTERNS) return NULL;
        made[n_made] = *wanted;
        return make(made + n_made, before) ? made + n_made++ : NULL;
    }
    met[next_met++ % MET] = *wanted;
    return NULL;
}

static bool same(u64 a, u64 b, u64 n) {
    const u64 *p = (const u64 *)a, *q = (const u64 *)b;
    for (const u64 *end = p + n / 8; p < end; p += 8, q += 8)
        if ((p[0] ^ q[0]) | (p[1] ^ q[1]) | (p[2] ^ q[2]) | (p[3] ^ q[3]) | (p[4] ^ q[4]) | (p[5] ^ q[5]) |
            (p[6] ^ q[6]) | (p[7] ^ q[7]))
            return false;
    return true;
}

/* Its V bytes at the ends lie on pages of others. */
bool sh_share_zeros(u64 addr, u64 size) {
    u64 at = RT_ROUND_UP(sh_v(addr), RT_PAGE), end = RT_ROUND_DOWN(sh_v(addr + size), RT_PAGE);
    if (!rt_alone || n_spans == SPANS_MOST || at >= end || !sh_is_zero(at, end)) return false;
    if (map(at, end - at, PROT_RW, MAP_PRIVATE_NORESERVE_FIXED | MAP_ANON, 0) != (long)at) return false;
    n_spans++;
    return true;
}

void sh_end_zeros(u64 addr, u64 size) {
    u64 at = RT_ROUND_UP(sh_v(addr), RT_PAGE), end = RT_ROUND_DOWN(sh_v(addr + size), RT_PAGE);
    n_spans--;
    if (at < end) sh_map_some_ones(at, end - at);
}

bool sh_share_alike(u64 lo, u64 bytes, u64 stride, u64 offset, u64 size) {
    u64 at = RT_ROUND_UP(sh_v(lo), RT_PAGE), len = RT_ROUND_DOWN(sh_v(lo + bytes), RT_PAGE) - at;
    if (!rt_alone || no_more || n_spans == SPANS_MOST || len > SH_PATTERN_LEN) return false;
    struct pattern wanted = {.bytes = bytes, .len = len, .stride = stride, .offset = offset, .size = size};
    const struct pattern *p = find(&wanted, at - sh_v(lo));
    if (!p || !same(at, p->text, len)) return false;
    if (map(at, len, PROT_RW, MAP_PRIVATE_NORESERVE_FIXED, p->at) != (long)at) return false;
    n_spans++;
    return true;
}

void sh_end_alike(u64 lo, u64 bytes) {
    static u8 page[RT_PAGE];
    u64 at = RT_ROUND_UP(sh_v(lo), RT_PAGE), end = RT_ROUND_DOWN(sh_v(lo + bytes), RT_PAGE);
    n_spans--;
    for (u64 from = at; from < end; from = at) {
        while (at < end && sh_is_nobodys(at)) at += RT_PAGE;
        if (from < at) sh_map_some_ones(from, at - from);
        if (at == end) return;
        /* A request of the program's has put something there, or there is no shadow any more. */
        if (!sh_read(page, at, RT_PAGE)) {
            sh_map_some_ones(at, RT_PAGE);
            sh_copy(at, (u64)page, RT_PAGE);
        }
        at += RT_PAGE;
    }
}
