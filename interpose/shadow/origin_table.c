/* The tags of memory: chunks of them, found by their numbers.
 *
 * A copy of a structure with holes tags a few granules, and what is copied once is mostly copied on: so a tag has a
 * place of its own, which takes one look.  Pages of tags that are all forgotten go back. */
#include "shadow/origin_table.h"

#include <asm/unistd.h>

#define MADV_DONTNEED_   4
#define MADV_NOHUGEPAGE_ 15
/* So many pages without a tag are kept for those that come: where blocks with tags come and go, they are soon wanted.
 */
#define IDLE_KEPT 512

#define BYTES          (ORIGIN_MANY * sizeof(u32))
#define PER_BLOCK      (1u << (ORIGIN_BLOCK - ORIGIN_GRANULE))
#define PER_PAGE       (RT_PAGE / sizeof(u32))
#define BLOCK_OF(i)    ((i) / PER_BLOCK)
#define IN_PAGE(block) ((block) % (PER_PAGE / PER_BLOCK))
#define PAGE_OF(i)     ((i) / PER_PAGE)

_Static_assert(PER_PAGE / PER_BLOCK == 16 && 16 == 8 * sizeof((struct origin_chunk){0}.blocks[0]),
               "a bit for each block of a page");

static struct origin_place first_places[64];
struct origin_place *origin_places = first_places;
struct origin_place origin_recent[ORIGIN_RECENT];
u64 origin_generation;
u64 origin_n_places = sizeof first_places / sizeof *first_places;
static u64 n_chunks, n_used, n_idle; /* pages: used, and those of them without a tag */

static struct origin_near *only_near; /* as long as there is one */
static u32 n_near;

static struct origin_near *spare_near; /* of threads that have ended, linked through .untagged.of */

struct origin_near *origin_new_near(void) {
    struct origin_near *near = spare_near;
    n_near++;
    if (!near) return only_near = rt_pages(sizeof *near);
    spare_near = (struct origin_near *)(u64)near->untagged.of;
    memset(near, 0, sizeof *near);
    return near;
}

void origin_end_near(struct origin_near *near) {
    near->untagged.of = spare_near;
    spare_near = near;
}

void origin_void_untagged(u64 lo, u64 hi) {
    struct origin_untagged *u = only_near ? &only_near->untagged : NULL;
    if (n_near > 1)
        origin_generation++; /* theirs may be in use */
    else if (u && lo < u->lo + u->size && hi > u->lo)
        u->size = 0;
}

static u32 *new_words(void) {
    u32 *words = rt_pages(BYTES);
    sys3(__NR_madvise, (long)words, BYTES, MADV_NOHUGEPAGE_); /* a tag here and there is no reason for 2 MiB */
    return words;
}

static void more_places(void) {
    struct origin_place *old = origin_places;
    u64 n = origin_n_places;
    origin_n_places = 4 * n;
    origin_places = rt_pages(origin_n_places * sizeof *origin_places);
    for (u64 i = 0; i < n; i++)
        if (old[i].chunk) *origin_place_of(old[i].number) = old[i];
    if (old != first_places) rt_free_pages(old, n * sizeof *old);
}

/* The chunk of addr, which is made if need be; owned: with owners. */
static struct origin_chunk *chunk_for(u64 addr, bool owned) {
    /* Descriptions come from pages of their own, of which none goes back. */
    static struct origin_chunk *spare;
    static u32 n_spare;
    struct origin_chunk *c = origin_chunk_of(addr);
    if (!c) {
        if (2 * ++n_chunks > origin_n_places) more_places();
        if (!n_spare) {
            n_spare = 64;
            spare = rt_pages(n_spare * sizeof *spare);
        }
        c = &spare[--n_spare];
        c->number = addr >> ORIGIN_CHUNK;
        c->tags = new_words();
        *origin_place_of(c->number) = (struct origin_place){c->number, c};
    }
    if (owned && !c->owners) c->owners = new_words();
    return c;
}

/* In the block of granule i something has a tag from now on. */
static inline void note(struct origin_chunk *c, u32 i) {
    u16 *blocks = &c->blocks[PAGE_OF(i)], bit = (u16)(1u << IN_PAGE(BLOCK_OF(i)));
    if (*blocks & bit) return;
    if (!*blocks && c->used[PAGE_OF(i)])
        n_idle--;
    else if (!*blocks)
        n_used++;
    c->used[PAGE_OF(i)] = 1;
    *blocks |= bit;
    u64 at = c->number << ORIGIN_CHUNK | (u64)BLOCK_OF(i) << ORIGIN_BLOCK;
    origin_void_untagged(at, at + (1u << ORIGIN_BLOCK));
}

static bool noted(u64 addr) {
    const struct origin_chunk *c = origin_chunk_of(addr);
    return c && origin_noted(c, origin_granule(addr));
}

static void fill(u32 *words, u32 n, u32 value) {
    if (n >= PER_BLOCK) {
        u64 pair = (u64)value << 32 | value, pairs = n / 2;
        void *to = words;
        __asm__ volatile("rep stosq" : "+D"(to), "+c"(pairs) : "a"(pair) : "memory");
        words = to;
        n %= 2;
    }
    origin_fill(words, n, value);
}

/* Of granules that lie in one chunk, from lo up to one that holds a byte before hi, how many. */
static u32 granules(u64 lo, u64 hi) {
    u64 end = (lo | ((1ull << ORIGIN_CHUNK) - 1)) + 1;
    u64 last = (hi < end ? hi : end) - 1;
    return (u32)((last >> ORIGIN_GRANULE) - (lo >> ORIGIN_GRANULE)) + 1;
}

void origin_set_tags(u64 lo, u64 hi, u32 tag, const u32 *owner) {
    for (u64 at = lo; at < hi; at = ((at >> ORIGIN_CHUNK) + 1) << ORIGIN_CHUNK) {
        struct origin_chunk *c = chunk_for(at, owner);
        u32 i = origin_granule(at), n = granules(at, hi);
        for (u32 k = i; k < i + n; k = (BLOCK_OF(k) + 1) * PER_BLOCK) note(c, k);
        fill(c->tags + i, n, tag);
        if (owner) fill(c->owners + i, n, *owner);
    }
}

void origin_put_tags(u64 lo, u32 n, const u32 *tags, const u32 *owner) {
    struct origin_chunk *c = chunk_for(lo, owner);
    u32 i = origin_granule(lo);
    note(c, i);
    memcpy(c->tags + i, tags, n * sizeof *tags);
    if (owner) fill(c->owners + i, n, *owner);
}

void origin_get_tags(u64 lo, u32 n, u32 *tags) {
    const u64 end = lo + ((u64)n << ORIGIN_GRANULE);
    for (u32 k; n; lo = end - ((u64)n << ORIGIN_GRANULE), tags += k) {
        const struct origin_chunk *c = origin_chunk_of(lo);
        k = ORIGIN_MANY - origin_granule(lo) < n ? ORIGIN_MANY - origin_granule(lo) : n;
        n -= k;
        if (c)
            memcpy(tags, c->tags + origin_granule(lo), k * sizeof *tags);
        else
            memset(tags, 0, k * sizeof *tags);
    }
}

/* Is something undefined among n bytes, up to a line?  Their V bytes exist. */
static bool any_undefined(u64 addr, u64 n) {
    u64 any = 0, word;
    const u8 *v = (const u8 *)(addr + IP_V_CONST);
    for (; n >= sizeof word; n -= sizeof word, v += sizeof word) {
        memcpy(&word, v, sizeof word);
        any |= word;
    }
    while (n--) any |= *v++;
    return any;
}

void origin_copy_tags(u64 to, u64 from, u64 n, u32 untagged, bool alike, u64 *lines) {
    for (u64 k; n && *lines; to += k, from += k, n -= k) {
        u32 tags[ORIGIN_TAGS];
        k = (1u << ORIGIN_LINE) - (to & ((1u << ORIGIN_LINE) - 1));
        if (k > n) k = n;
        if (alike && !noted(to) && !noted(from) && !noted(from + k - 1)) continue;
        if (!any_undefined(to, k)) continue;
        --*lines;
        u32 many = granules(to, to + k);
        origin_get_tags(from, many, tags);
        for (u32 i = 0; i < many; i++)
            if (!tags[i]) tags[i] = untagged;
        origin_put_tags(to, many, tags, NULL);
    }
}

/* Pages without a tag go back. */
static void give_back(void) {
    for (u64 i = 0; i < origin_n_places; i++) {
        struct origin_chunk *c = origin_places[i].chunk;
        for (u32 p = 0, end; c && p < ORIGIN_PAGES; p = end + 1) {
            for (end = p; end < ORIGIN_PAGES && c->used[end] && !c->blocks[end]; end++) c->used[end] = 0;
            if (end == p) continue;
            sys3(__NR_madvise, (long)c->tags + p * (long)RT_PAGE, (end - p) * (long)RT_PAGE, MADV_DONTNEED_);
            if (c->owners)
                sys3(__NR_madvise, (long)c->owners + p * (long)RT_PAGE, (end - p) * (long)RT_PAGE, MADV_DONTNEED_);
        }
    }
    n_used -= n_idle;
    n_idle = 0;
}

static bool is_empty(const u32 *tags) {
    u64 any = 0, pair;
    for (u32 i = 0; i < PER_BLOCK; i += 2) {
        memcpy(&pair, tags + i, sizeof pair);
        any |= pair;
    }
    return !any;
}

static void forget_in(struct origin_chunk *c, u32 lo, u32 hi) {
    for (u32 i = lo, end; i < hi; i = end) {
        u16 *blocks = &c->blocks[PAGE_OF(i)];
        if (!*blocks) {
            end = (u32)((PAGE_OF(i) + 1) * PER_PAGE);
            continue;
        }
        end = (BLOCK_OF(i) + 1) * PER_BLOCK;
        if (!origin_noted(c, i)) continue;
        u32 n = (end < hi ? end : hi) - i;
        memset(c->tags + i, 0, n * sizeof *c->tags);
        /* What is another block's there, another thread may be tagging (moves.S). */
        if (n < PER_BLOCK && (n_near > 1 || !is_empty(c->tags + (end - PER_BLOCK)))) continue;
        *blocks &= (u16) ~(1u << IN_PAGE(BLOCK_OF(i)));
        n_idle += !*blocks;
    }
}

void origin_forget_tags(u64 lo, u64 hi) {
    if (!n_chunks || lo >= hi) return;
    if ((hi - lo) >> ORIGIN_CHUNK >= origin_n_places) {
        for (u64 i = 0; i < origin_n_places; i++) {
            struct origin_chunk *c = origin_places[i].chunk;
            u64 begin = c ? c->number << ORIGIN_CHUNK : 0, end = begin + (1ull << ORIGIN_CHUNK);
            if (!c || begin >= hi || end <= lo) continue;
            u32 from = begin < lo ? origin_granule(lo) : 0;
            forget_in(c, from, from + granules(begin < lo ? lo : begin, hi));
        }
    } else {
        /* By numbers: behind the last chunk of all addresses the next one would begin at 0. */
        for (u64 n = lo >> ORIGIN_CHUNK; n <= (hi - 1) >> ORIGIN_CHUNK; n++) {
            u64 begin = n << ORIGIN_CHUNK, at = begin < lo ? lo : begin;
            struct origin_chunk *c = origin_chunk_of(at);
            if (c) forget_in(c, origin_granule(at), origin_granule(at) + granules(at, hi));
        }
    }
    if (n_idle > IDLE_KEPT && n_idle > n_used / 2) give_back();
}
