/* Guest pages with translations: which blocks, and who notices a write to them. */
#include <string.h>

#include "jit/transtab.h"

void tt_init_pages(struct transtab *t) {
    t->pages_cap = 4096;
    t->pages = tt_alloc(t, t->pages_cap, sizeof *t->pages);
}

static uint32_t home(const struct transtab *t, uint64_t page) {
    return (uint32_t)((page >> 12) * 0x9e3779b97f4a7c15ull >> 32) & (t->pages_cap - 1);
}

/* The place of a page in the table, empty or not. */
static struct page_ent *place(const struct transtab *t, uint64_t page) {
    uint32_t m = t->pages_cap - 1, h = home(t, page);
    while (t->pages[h].page && t->pages[h].page != page) h = (h + 1) & m;
    return &t->pages[h];
}

struct page_ent *tt_page(const struct transtab *t, uint64_t page) {
    struct page_ent *p = place(t, page);
    return p->page ? p : NULL;
}

static void grow(struct transtab *t) {
    struct page_ent *old = t->pages;
    uint32_t cap = t->pages_cap;
    t->pages_cap = cap * 2;
    t->pages = tt_alloc(t, t->pages_cap, sizeof *t->pages);
    for (uint32_t i = 0; i < cap; i++)
        if (old[i].page) *place(t, old[i].page) = old[i];
    tt_free(t, old, cap * sizeof *old);
}

static struct page_ent *make(struct transtab *t, uint64_t page) {
    struct page_ent *p = place(t, page);
    if (!p->page) {
        p->page = page;
        if (++t->pages_n * 2 > t->pages_cap && t->pages_cap < PAGES_MOST) {
            grow(t);
            p = place(t, page);
        }
    }
    return p;
}

/* Of blocks that were made again and again, only the newest is left. */
static void forget_dropped(const struct transtab *t, struct page_ent *p) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < p->n; k++)
        if (t->blocks[p->blocks[k]].live) p->blocks[n++] = p->blocks[k];
    p->n = n;
}

void tt_page_add_block(struct transtab *t, uint64_t page, uint32_t block) {
    struct page_ent *p = make(t, page);
    if (p->n == p->cap) {
        forget_dropped(t, p);
        if (p->n * 2 >= p->cap) {
            uint32_t *old = p->blocks, before = p->cap;
            p->cap = before ? before * 2 : 8;
            p->blocks = tt_alloc(t, p->cap, sizeof *p->blocks);
            if (before) memcpy(p->blocks, old, p->n * sizeof *old);
            tt_free(t, old, before * sizeof *old);
        }
    }
    p->blocks[p->n++] = block;
    struct brec *r = &t->brec[block];
    if (!r->own_page && !r->n_others && page == (t->blocks[block].key & IP_KEY_PC & ~4095ull)) {
        r->own_page = 1;
        return;
    }
    if (!r->n_others++) r->pages = t->n_block_pages & ((1u << 27) - 1);
    t->block_pages[t->n_block_pages++] = page;
}

/* ---- Who notices -------------------------------------------------------------------- */

void tt_watched(struct transtab *t, uint64_t page, bool unnoticed) {
    struct page_ent *p = make(t, page);
    p->watched = !unnoticed;
    p->unnoticed = unnoticed;
    tt_forget_code(t, page, page + 4096); /* read before that */
}

bool tt_is_checked(const struct transtab *t, uint64_t page) {
    if (t->opts.flags & IP_C_SMC_ALL) return true;
    const struct page_ent *p = tt_page(t, page);
    return p && (p->unnoticed || p->written >= WRITTEN_OFTEN);
}

bool tt_is_watched(const struct transtab *t, uint64_t page) {
    const struct page_ent *p = tt_page(t, page);
    return p && p->watched && !tt_is_checked(t, page);
}

/* ---- Changes ------------------------------------------------------------------------ */

static void set_written(struct transtab *t, struct page_ent *p, uint32_t times) {
    bool before = p->written >= WRITTEN_OFTEN, after = times >= WRITTEN_OFTEN;
    p->written = times;
    if (after) p->changed = tt_now_ms();
    if (after && !before) {
        if (p->relapses < CALM_DOUBLINGS) p->relapses++;
        t->n_often++;
    } else if (before && !after) {
        t->n_often--;
    }
}

static uint64_t drop(struct transtab *t, struct page_ent *p, int why) {
    uint64_t live = 0;
    for (uint32_t k = 0; k < p->n; k++) {
        const struct ip_block *b = &t->blocks[p->blocks[k]];
        live += b->live;
        /* One that was stale may be in the fast table still. */
        if (t->n_gone < IP_MAX_GONE) t->gone[t->n_gone] = (uint16_t)b->key;
        t->n_gone++;
        tt_drop_block(t, p->blocks[k]);
    }
    if (why == IP_INVALID_CHANGED) {
        set_written(t, p, 0);
        p->unnoticed = p->relapses = 0;
    }
    if (why == IP_INVALID_WRITTEN && p->n) set_written(t, p, p->written + 1);
    p->n = p->watched = 0;
    return live;
}

uint64_t tt_invalidate(struct transtab *t, uint64_t lo, uint64_t len, int why) {
    uint64_t hi = lo + len, dropped = 0;
    t->req_gen++;
    t->n_gone = 0;
    if (why == IP_INVALID_TRACED) t->opts.flags |= IP_C_SMC_ALL;
    if (len > (1ull << 32)) {
        for (uint32_t i = 0; i < t->pages_cap; i++) {
            struct page_ent *p = &t->pages[i];
            if (p->page && p->page + 4096 > lo && p->page < hi) dropped += drop(t, p, why);
        }
    } else {
        for (uint64_t page = lo & ~4095ull; page < hi; page += 4096) {
            struct page_ent *p = tt_page(t, page);
            if (p) dropped += drop(t, p, why);
        }
    }
    tt_ranges_del(&t->stable, lo, hi); /* it did change */
    tt_forget_code(t, lo, hi);
    return dropped;
}

void tt_stale(struct transtab *t, uint64_t key) {
    uint32_t found = tt_find(t, tt_canonical(t, key));
    if (!found) return;
    uint64_t now = t->n_often ? tt_now_ms() : 0;
    for (uint32_t i = 0; now && i < tt_n_pages(t, found - 1); i++) {
        struct page_ent *p = tt_page(t, tt_block_page(t, found - 1, i));
        if (p) p->changed = now;
    }
    tt_drop_block(t, found - 1);
}

/* Whatever way leads to the block, it will find itself stale: the value that it
 * compares first is another one (one byte, so no thread sees half of it). */
static void make_stale(struct transtab *t, uint32_t block) {
    uint32_t at = t->blocks[block].live ? t->brec[block].compare : 0;
    if (!at) return;
    uint8_t *byte = tt_code(t, t->blocks[block].host + at);
    __atomic_store_n(byte, *byte ^ 1, __ATOMIC_RELAXED);
    t->brec[block].compare = 0;
}

void tt_calm(struct transtab *t, uint64_t now_ms) {
    if (!t->n_often || now_ms < t->calm_at) return;
    t->calm_at = now_ms + CALM_MS / 2;
    for (uint32_t i = 0; i < t->pages_cap; i++) {
        struct page_ent *p = &t->pages[i];
        if (!p->page || p->written < WRITTEN_OFTEN || now_ms < p->changed + ((uint64_t)CALM_MS << (p->relapses - 1)))
            continue;
        set_written(t, p, 0);
        for (uint32_t k = 0; k < p->n; k++) make_stale(t, p->blocks[k]);
    }
}

static bool has_history(const struct page_ent *p) { return p->written || p->relapses; }

/* Open addressing without tombstones: what stands behind the gap and belongs before it moves up. */
static void forget(struct transtab *t, uint32_t gap) {
    uint32_t mask = t->pages_cap - 1;
    for (uint32_t i = (gap + 1) & mask; t->pages[i].page; i = (i + 1) & mask) {
        if (((i - home(t, t->pages[i].page)) & mask) < ((i - gap) & mask)) continue;
        t->pages[gap] = t->pages[i];
        gap = i;
    }
    memset(&t->pages[gap], 0, sizeof t->pages[gap]);
    t->pages_n--;
}

/* How often a page was written outlasts its blocks.  The others are forgotten: a program may come to new ones as long
 * as it runs.  All are where those alone would fill the table. */
void tt_flush_pages(struct transtab *t) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->pages_cap; i++) {
        struct page_ent *p = &t->pages[i];
        tt_free(t, p->blocks, p->cap * sizeof *p->blocks);
        p->blocks = NULL;
        p->n = p->cap = p->watched = 0;
        kept += has_history(p);
    }
    if (kept > t->pages_cap / 4) {
        memset(t->pages, 0, t->pages_cap * sizeof *t->pages);
        t->pages_n = t->n_often = 0;
    }
    for (uint32_t i = 0; i < t->pages_cap; i++)
        while (t->pages[i].page && !has_history(&t->pages[i])) forget(t, i);
}
