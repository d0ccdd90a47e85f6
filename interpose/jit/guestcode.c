/* The client's code bytes: copies of its pages, and for how long they hold. */
#include <string.h>

#include "jit/transtab.h"

#define CODE_READ 32 /* what stage 1 asks for: room for the longest marker */
#define WAYS      4u /* places for a page */

/* Its copy, or the place whose use lies back farthest. */
static struct page_copy *copy_of(const struct code_copies *c, uint64_t page) {
    struct page_copy *set = c->of + ((uint32_t)(page >> 12 ^ page >> 24) * WAYS & (c->n - 1)), *oldest = set;
    for (uint32_t i = 0; i < WAYS; i++) {
        if (set[i].page == page) return &set[i];
        if (set[i].gen < oldest->gen) oldest = &set[i];
    }
    return oldest;
}

static void forget(const struct code_copies *all, uint64_t lo, uint64_t hi) {
    if (hi - lo < all->n * 4096ull) {
        for (uint64_t page = lo & ~4095ull; page < hi; page += 4096) {
            struct page_copy *c = copy_of(all, page);
            if (c->page == page) c->valid = 0;
        }
    } else {
        memset(all->of, 0, all->n * sizeof *all->of);
    }
}

void tt_forget_code(struct transtab *t, uint64_t lo, uint64_t hi) {
    t->code_page = 1; /* no page */
    forget(&(struct code_copies){t->copies, NULL, CODE_COPIES}, lo, hi);
    forget(&(struct code_copies){t->copies_here, NULL, CODE_COPIES_HERE}, lo, hi);
}

bool tt_in_ranges(const struct tt_ranges *r, uint64_t at) {
    for (int i = 0; i < r->n; i++)
        if (at >= r->r[i].lo && at < r->r[i].hi) return true;
    return false;
}

void tt_ranges_add(struct tt_ranges *r, uint64_t lo, uint64_t hi) {
    if (lo >= hi || r->n == TT_RANGES) return;
    r->r[r->n].lo = lo;
    r->r[r->n++].hi = hi;
}

void tt_ranges_del(struct tt_ranges *r, uint64_t lo, uint64_t hi) {
    for (int i = 0; i < r->n;) {
        uint64_t a = r->r[i].lo, b = r->r[i].hi;
        if (a >= hi || b <= lo) {
            i++;
            continue;
        }
        r->r[i] = r->r[--r->n];
        /* What remains on either side comes after i or at the end: seen again, not cut again. */
        tt_ranges_add(r, a, lo);
        tt_ranges_add(r, hi, b);
    }
}

bool tt_is_stable(const struct transtab *t, uint64_t page) { return tt_in_ranges(&t->stable, page); }

/* The client's bytes at page, or NULL.  A copy is trusted within one request,
 * or as long as the page has translations (it is write-protected then), or
 * when it belongs to a mapping that cannot change. */
static const uint8_t *page_get(struct transtab *t, uint64_t page) {
    const struct code_copies all = tt_code_copies(t);
    struct page_copy *c = copy_of(&all, page);
    uint8_t *bytes = all.bytes + (c - all.of) * 4096;
    if (c->page != page || !c->valid ||
        (c->gen != t->req_gen && !tt_is_watched(t, page) && (tt_is_checked(t, page) || !tt_is_stable(t, page)))) {
        c->page = page;
        c->valid = tt_peek(t, page, bytes, 4096);
    }
    c->gen = t->req_gen;
    if (!c->valid) {
        t->code_page = 1;
        return NULL;
    }
    t->code_page = page;
    t->code_gen = t->req_gen;
    t->code_bytes = bytes;
    return bytes;
}

int tt_read(void *ctx, uint64_t pc, uint8_t *buf, int n) {
    struct transtab *t = ctx;
    int done = 0;
    while (done < n) {
        uint64_t a = pc + (uint64_t)done, page = a & ~4095ull;
        if (a < t->exec_lo || a >= t->exec_hi) break; /* no fetch from there */
        const uint8_t *bytes = page == t->code_page && t->code_gen == t->req_gen ? t->code_bytes : page_get(t, page);
        if (!bytes) break;
        int off = (int)(a & 4095), take = 4096 - off;
        if (n == CODE_READ && take >= n && done == 0) { /* nearly always, and then it is two moves */
            memcpy(buf, bytes + off, CODE_READ);
            return n;
        }
        if (take > n - done) take = n - done;
        memcpy(buf + done, bytes + off, (size_t)take);
        done += take;
        /* Do not read the next page for an instruction that ends in this one. */
        if (done >= 20) break;
    }
    return done;
}

bool tt_code_bytes(struct transtab *t, uint64_t pc, uint32_t n, uint8_t *out) {
    for (uint32_t done = 0, take; done < n; done += take) {
        uint64_t at = pc + done;
        const uint8_t *page = page_get(t, at & ~4095ull);
        if (!page) return false;
        take = 4096u - (uint32_t)(at & 4095);
        if (take > n - done) take = n - done;
        memcpy(out + done, page + (at & 4095), take);
    }
    return true;
}

bool tt_same_bytes(struct transtab *t, uint64_t pc, uint32_t n, const uint8_t *bytes) {
    for (uint32_t done = 0, take; done < n; done += take) {
        uint64_t at = pc + done;
        const uint8_t *page = page_get(t, at & ~4095ull);
        take = 4096u - (uint32_t)(at & 4095);
        if (take > n - done) take = n - done;
        if (!page || memcmp(bytes + done, page + (at & 4095), take) != 0) return false;
    }
    return true;
}
