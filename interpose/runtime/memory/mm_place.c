/* Where new mappings go: the highest free place, and for images the lowest one.
 *
 * A program may have tens of thousands of mappings, and most gaps between them
 * are of no use.  So it is remembered up to where every gap is smaller than what
 * is asked for: the place that is found is the same as without.
 */
#include "runtime/core/core.h"
#include "runtime/memory/memory.h"
#include "runtime/memory/mm.h"

#define LOW_GAP RT_PAGE /* one page between images: a run over the end faults */

u64 mm_high_top;

/* Between here and where a search begins no gap is larger than most.  Under the table's lock. */
struct looked_through {
    u64 to, most;
    u64 began; /* at the top, or the bottom, of which this holds */
};
static struct looked_through high, low;

void mm_place_init(void) {
    /* Mappings are placed from the top of the high range down, so the heap can
     * grow until it meets them, 15 TiB above and more. */
    mm_high_top = (rt_is_bare() ? IP_CLIENT_END_BARE : IP_PLACE_END) - (1ull << 20);
}

/* Where a search for so many bytes may begin that would begin at from. */
static u64 begin(struct looked_through *k, u64 from, u64 len) {
    if (k->began != from || len <= k->most) *k = (struct looked_through){from, 0, from};
    return k->to;
}

static void seen(struct looked_through *k, u64 gap) {
    if (k && gap > k->most) k->most = gap;
}

/* The highest free place in [floor, top), or 0. */
static u64 place_between(u64 floor, u64 top, u64 len, u64 align, struct looked_through *known) {
    u32 i = mm_first(known ? begin(known, top, len) : top);
    if (i < rt_nsegs && rt_segs[i].lo < top) top = rt_segs[i].lo;
    for (;; i--) { /* [bottom, top) is the gap below segment i */
        u64 bottom = i > 0 && rt_segs[i - 1].hi > floor ? rt_segs[i - 1].hi : floor;
        if (top > bottom && top - bottom >= len) {
            u64 at = RT_ROUND_DOWN(top - len, align);
            if (at >= bottom) {
                seen(known, top - (at + len));
                if (known) known->to = at + len; /* it may stay free */
                return at;
            }
        }
        if (top > bottom) seen(known, top - bottom);
        if (bottom == floor) break;
        top = rt_segs[i - 1].lo;
    }
    if (known) known->to = floor;
    return 0;
}

/* The lowest one for images; align is a page or more. */
static u64 lowest(u64 len, u64 align) {
    u64 need = len + LOW_GAP, from = IP_IMAGES_LO;
    u32 i = mm_first(begin(&low, from, need));
    if (i > 0 && rt_segs[i - 1].hi + LOW_GAP > from) from = rt_segs[i - 1].hi + LOW_GAP;
    for (;; i++) { /* [from, end) is the gap below segment i */
        u64 end = i < rt_nsegs && rt_segs[i].lo < IP_IMAGES_HI + LOW_GAP ? rt_segs[i].lo : IP_IMAGES_HI + LOW_GAP;
        u64 at = RT_ROUND_UP(from, align);
        if (at + need <= end) {
            seen(&low, at - from);
            low.to = at; /* it may stay free */
            return at;
        }
        if (end > from) seen(&low, end - from);
        if (end == IP_IMAGES_HI + LOW_GAP) break;
        from = rt_segs[i].hi + LOW_GAP;
    }
    low.to = IP_IMAGES_HI;
    return 0;
}

u64 mm_place_32bit(u64 len, u64 align) {
    if (len > IP_IMAGES_HI - IP_IMAGES_LO) return 0;
    if (rt.no_randomize) /* the program's break may go up from below */
        return place_between(IP_IMAGES_LO, IP_IMAGES_HI, len + LOW_GAP, align, NULL);
    return lowest(len, align);
}

u64 mm_place_low(u64 len, u64 align) { return rt.flags & IP_C_FAR_IMAGES ? 0 : mm_place_32bit(len, align); }

u64 mm_place_high(u64 len, u64 align) {
    if (!rt_is_bare()) return place_between(IP_CLIENT_LO, mm_high_top, len, align, &high);
    u64 at = place_between(IP_OWN_END, mm_high_top, len, align, &high);
    return at ? at : place_between(IP_CLIENT_LO, IP_OWN_BASE, len, align, NULL);
}

void mm_place_freed(u32 index) {
    u64 below = index > 0 ? rt_segs[index - 1].hi : 0, above = index < rt_nsegs ? rt_segs[index].lo : ~0ull;
    if (above > high.to) high.to = above < high.began ? above : high.began;
    if (below + LOW_GAP < low.to) low.to = below + LOW_GAP > low.began ? below + LOW_GAP : low.began;
}
