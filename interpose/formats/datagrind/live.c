/* What is live at one moment: a map of names, and a set of address ranges. */
#include <stdlib.h>
#include <string.h>

#include "formats/datagrind/private/own.h"
#include "jit/lastwords.h"

/* ---- Maps ---------------------------------------------------------------------------------------- */

static uint64_t hash(uint64_t key, uint64_t key2) {
    uint64_t h = key * 0x9e3779b97f4a7c15u ^ (key2 + 0x7f4a7c15) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 31;
    h *= 0x94d049bb133111ebu;
    return h ^ h >> 29;
}

static uint64_t slot(const struct dg_map *m, uint64_t key, uint64_t key2) {
    uint64_t i = hash(key, key2) & (m->cap - 1);
    while (m->entries[i].used && (m->entries[i].key != key || m->entries[i].key2 != key2)) i = (i + 1) & (m->cap - 1);
    return i;
}

uint64_t *dg_map_find(const struct dg_map *m, uint64_t key, uint64_t key2) {
    if (!m->cap) return NULL;
    struct dg_map_entry *e = &m->entries[slot(m, key, key2)];
    return e->used ? &e->value : NULL;
}

uint64_t *dg_map_add(struct dg_map *m, uint64_t key, uint64_t key2, uint64_t value) {
    if (2 * (m->n + 1) > m->cap) {
        struct dg_map bigger = {.cap = m->cap ? 2 * m->cap : 64, .n = m->n};
        bigger.entries = ip_alloc(bigger.cap, sizeof *bigger.entries);
        for (uint64_t i = 0; i < m->cap; i++) {
            struct dg_map_entry *e = &m->entries[i];
            if (e->used) bigger.entries[slot(&bigger, e->key, e->key2)] = *e;
        }
        free(m->entries);
        *m = bigger;
    }
    struct dg_map_entry *e = &m->entries[slot(m, key, key2)];
    if (!e->used) {
        *e = (struct dg_map_entry){key, key2, value, true};
        m->n++;
    }
    return &e->value;
}

void dg_map_remove(struct dg_map *m, uint64_t key, uint64_t key2) {
    if (!m->cap) return;
    uint64_t hole = slot(m, key, key2), mask = m->cap - 1;
    if (!m->entries[hole].used) return;
    m->n--;
    /* What lies behind moves up, as far as it may. */
    for (uint64_t i = (hole + 1) & mask; m->entries[i].used; i = (i + 1) & mask) {
        uint64_t home = hash(m->entries[i].key, m->entries[i].key2) & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            m->entries[hole] = m->entries[i];
            hole = i;
        }
    }
    m->entries[hole].used = false;
}

/* ---- Ranges -------------------------------------------------------------------------------------- */

#define PAGES     2048 /* remembered */
#define PAGE_BITS 12
#define UNIT_BITS 3 /* of address bits: blocks and most ranges begin at multiples of eight */
#define PAGE_LAST ((1u << PAGE_BITS) - 1)
#define UNIT_LAST ((1u << UNIT_BITS) - 1)
#define UNITS     (1u << (PAGE_BITS - UNIT_BITS))

static uint64_t most_of(const struct dg_live *l, uint32_t n) { return n ? l->nodes[n].most : 0; }

static void update(struct dg_live *l, uint32_t n) {
    struct dg_node *node = &l->nodes[n];
    uint64_t left = most_of(l, node->left), right = most_of(l, node->right);
    node->most = node->last;
    if (left > node->most) node->most = left;
    if (right > node->most) node->most = right;
}

static bool before(const struct dg_node *n, uint64_t first, uint64_t last) {
    return n->first != first ? n->first < first : n->last < last;
}

/* Nodes before (first, last) to *left, the others to *right. */
static void split(struct dg_live *l, uint32_t n, uint64_t first, uint64_t last, uint32_t *left, uint32_t *right) {
    if (!n) {
        *left = *right = 0;
    } else if (before(&l->nodes[n], first, last)) {
        uint32_t rest;
        split(l, l->nodes[n].right, first, last, &rest, right);
        l->nodes[n].right = rest;
        *left = n;
        update(l, n);
    } else {
        uint32_t rest;
        split(l, l->nodes[n].left, first, last, left, &rest);
        l->nodes[n].left = rest;
        *right = n;
        update(l, n);
    }
}

static uint32_t join(struct dg_live *l, uint32_t left, uint32_t right) {
    if (!left || !right) return left ? left : right;
    if (l->nodes[left].weight > l->nodes[right].weight) {
        uint32_t joined = join(l, l->nodes[left].right, right);
        l->nodes[left].right = joined;
        update(l, left);
        return left;
    }
    uint32_t joined = join(l, left, l->nodes[right].left);
    l->nodes[right].left = joined;
    update(l, right);
    return right;
}

static uint32_t find(const struct dg_live *l, uint64_t first, uint64_t last) {
    uint32_t n = l->root;
    while (n && (l->nodes[n].first != first || l->nodes[n].last != last))
        n = before(&l->nodes[n], first, last) ? l->nodes[n].right : l->nodes[n].left;
    return n;
}

/* Whether a range has an address. */
static bool meets(const struct dg_live *l, uint64_t address) {
    uint32_t n = l->root;
    while (n) {
        const struct dg_node *node = &l->nodes[n];
        if (node->left && l->nodes[node->left].most >= address) {
            /* If the one that ends last does not meet, it begins beyond, and so does all to the right. */
            n = node->left;
            continue;
        }
        if (node->first <= address && node->last >= address) return true;
        if (node->first > address) return false;
        n = node->right;
    }
    return false;
}

static struct dg_page *page_at(const struct dg_live *l, uint64_t page) { return &l->pages[page % PAGES]; }

/* What is remembered of the units of a page between two addresses: nothing, or that they are in. */
static void note(struct dg_page *at, uint64_t first, uint64_t last, bool known) {
    uint64_t begin = at->page << PAGE_BITS, end = begin | PAGE_LAST;
    if (first < begin) first = begin;
    if (last > end) last = end;
    uint64_t low = first >> UNIT_BITS & (UNITS - 1), high = last >> UNIT_BITS & (UNITS - 1);
    for (uint64_t word = low / 64; word <= high / 64; word++) {
        uint64_t bits = ~0ull;
        if (word == low / 64) bits &= ~0ull << low % 64;
        if (word == high / 64) bits &= ~0ull >> (63 - high % 64);
        at->known[word] = known ? at->known[word] | bits : at->known[word] & ~bits;
        at->in[word] |= bits;
    }
    /* A unit that the range has in part is asked for each time. */
    if (known && first & UNIT_LAST) note(at, first, first, false);
    if (known && ~last & UNIT_LAST) note(at, last, last, false);
}

/* Note the ranges below a node that have an address of the page. */
static void note_all(const struct dg_live *l, uint32_t n, struct dg_page *at) {
    uint64_t begin = at->page << PAGE_BITS, end = begin | PAGE_LAST;
    while (n && l->nodes[n].most >= begin) {
        const struct dg_node *node = &l->nodes[n];
        note_all(l, node->left, at);
        if (node->first > end) return;
        if (node->last >= begin) note(at, node->first, node->last, true);
        n = node->right;
    }
}

/* A range is there, or is not there any more. */
static void changed(struct dg_live *l, uint64_t first, uint64_t last, bool is_there) {
    if (!l->pages) return;
    uint64_t from = first >> PAGE_BITS, to = last >> PAGE_BITS;
    for (uint64_t n = 0; n < PAGES && n <= to - from; n++) {
        struct dg_page *at = to - from < PAGES ? page_at(l, from + n) : &l->pages[n];
        if (at->is_known && at->page >= from && at->page <= to) note(at, first, last, is_there);
    }
}

void dg_live_add(struct dg_live *l, uint64_t first, uint64_t last) {
    changed(l, first, last, true);
    uint32_t n = find(l, first, last);
    if (n) {
        l->nodes[n].count++;
        return;
    }
    if (l->free) {
        n = l->free;
        l->free = l->nodes[n].left;
    } else {
        if (l->n + 1 >= l->cap) {
            l->cap = l->cap ? 2 * l->cap : 64;
            l->nodes = ip_realloc(l->nodes, l->cap * sizeof *l->nodes);
        }
        n = ++l->n;
    }
    l->random = l->random * 6364136223846793005u + 1442695040888963407u;
    l->nodes[n] =
        (struct dg_node){.first = first, .last = last, .most = last, .count = 1, .weight = (uint32_t)(l->random >> 32)};
    uint32_t left, right;
    split(l, l->root, first, last, &left, &right);
    l->root = join(l, join(l, left, n), right);
}

void dg_live_remove(struct dg_live *l, uint64_t first, uint64_t last) {
    uint32_t n = find(l, first, last);
    if (!n || --l->nodes[n].count) return;
    changed(l, first, last, false);
    uint32_t left, middle, right;
    split(l, l->root, first, last, &left, &right);
    if (last != IP_DG_NEVER)
        split(l, right, first, last + 1, &middle, &right);
    else
        split(l, right, first + 1, 0, &middle, &right);
    l->root = join(l, left, right);
    l->nodes[middle].left = l->free;
    l->free = middle;
}

bool dg_live_holds(struct dg_live *l, uint64_t address) {
    if (!l->root) return false;
    if (!l->pages) l->pages = ip_alloc(PAGES, sizeof *l->pages);
    struct dg_page *at = page_at(l, address >> PAGE_BITS);
    unsigned unit = address >> UNIT_BITS & (UNITS - 1), word = unit / 64;
    uint64_t bit = 1ull << unit % 64;
    if (!at->is_known || at->page != address >> PAGE_BITS) {
        *at = (struct dg_page){.page = address >> PAGE_BITS, .is_known = true};
        memset(at->known, 0xff, sizeof at->known);
        note_all(l, l->root, at);
    }
    if (!(at->known[word] & bit)) return meets(l, address);
    return at->in[word] & bit;
}

void dg_live_free(struct dg_live *l) {
    free(l->nodes);
    free(l->pages);
}
