/* Do any of some pieces of memory overlap? */
#include "heap/heap.h"

/* Of those at one address the longest first. */
static bool before(const struct heap_extent *a, const struct heap_extent *b) {
    return a->addr != b->addr ? a->addr < b->addr : a->end > b->end;
}

static void sink(struct heap_extent *e, u32 at, u32 n) {
    struct heap_extent moved = e[at];
    for (u32 below; (below = 2 * at + 1) < n; at = below) {
        if (below + 1 < n && before(&e[below], &e[below + 1])) below++;
        if (!before(&moved, &e[below])) break;
        e[at] = e[below];
    }
    e[at] = moved;
}

/* In place, with no recursion: there may be any number of them. */
static void sort(struct heap_extent *e, u32 n) {
    bool sorted = true;
    for (u32 i = 1; i < n && sorted; i++) sorted = !before(&e[i], &e[i - 1]);
    if (sorted) return;
    for (u32 i = n / 2; i-- > 0;) sink(e, i, n);
    for (u32 last = n - 1; last > 0; last--) {
        struct heap_extent most = e[0];
        e[0] = e[last];
        e[last] = most;
        sink(e, 0, last);
    }
}

bool heap_extents_overlap(struct heap_extent *e, u32 n) {
    sort(e, n);
    for (u32 i = 1; i < n; i++)
        if (e[i - 1].end > e[i].addr) return true;
    return false;
}
