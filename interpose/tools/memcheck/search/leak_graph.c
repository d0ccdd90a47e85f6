/* See leak_graph.h. */
#include "tools/memcheck/search/leak_graph.h"

#include <stdlib.h>
#include <string.h>

#include "abi/heap_abi.h"

enum { ROOTS, REACHED, LOST, LEADERS, DONE };

/* -- blocks ------------------------------------------------------------------------------------ */

static int is_allocated(const struct ip_leak_block *b) { return b->kind < IP_AK_CUSTOM; }

size_t ip_leak_pick(const void *records, size_t n, struct ip_leak_block *out) {
    const struct ip_heap_block *b = records;
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (b[i].state != IP_HB_LIVE) continue;
        struct ip_leak_block *to = &out[found++];
        *to = (struct ip_leak_block){.addr = b[i].addr, .size = b[i].size, .origin = b[i].alloc_ctx, .kind = b[i].kind};
        if (is_allocated(to)) {
            to->detail = b[i].next;
        } else if (b[i].kind != IP_AK_CUSTOM && i + 1 < n) {
            struct ip_heap_pooled behind;
            memcpy(&behind, &b[i + 1], sizeof behind);
            to->detail = behind.redzone;
        }
    }
    return found;
}

static int in_order(const void *left, const void *right) {
    const struct ip_leak_block *a = left, *b = right;
    if (a->addr != b->addr) return a->addr < b->addr ? -1 : 1;
    if (!a->size != !b->size) return a->size ? 1 : -1;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    int meta = (b->kind == IP_AK_METAPOOL) - (a->kind == IP_AK_METAPOOL);
    return meta ? meta : a->place < b->place ? -1 : 1;
}

uint32_t ip_leak_sort(struct ip_leak_block *blocks, size_t n) {
    uint32_t facts = 0;
    int sorted = 1;
    for (size_t i = 0; i < n; i++) blocks[i].place = (uint32_t)i;
    for (size_t i = 1; i < n && sorted; i++) sorted = in_order(&blocks[i - 1], &blocks[i]) < 0;
    if (!sorted) qsort(blocks, n, sizeof *blocks, in_order);
    for (size_t i = 0; i < n; i++) {
        const struct ip_leak_block *b = &blocks[i];
        if (b->kind != IP_AK_POOL && b->kind != IP_AK_METAPOOL) facts |= IP_LB_ALLOCATED;
        if (i && (b->addr == b[-1].addr || b->addr - b[-1].addr < b[-1].size)) facts |= IP_LB_TOUCHING;
    }
    return facts;
}

void ip_leak_ranges(const struct ip_leak_block *blocks, size_t n, struct ip_range *out) {
    for (size_t i = 0; i < n; i++) out[i] = (struct ip_range){blocks[i].addr, blocks[i].addr + blocks[i].size};
}

int64_t ip_leak_chunk_at(const struct ip_leak_block *blocks, size_t n, uint32_t kind, uint64_t addr) {
    int64_t best = -1;
    uint64_t nearest = 0;
    for (size_t i = 0; i < n; i++) {
        const struct ip_leak_block *b = &blocks[i];
        if (b->kind != kind) continue;
        uint64_t far = 0;
        if (addr < b->addr)
            far = b->addr - addr;
        else if (addr != b->addr && addr - b->addr >= b->size)
            far = addr - b->addr - b->size + 1;
        if (far > b->detail) continue;
        if (best >= 0 && (far > nearest || (far == nearest && b->size >= blocks[best].size))) continue;
        best = (int64_t)i;
        nearest = far;
    }
    return best;
}

size_t ip_leak_keep(struct ip_hit *hits, size_t n, const uint8_t *good) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (good[i]) hits[kept++] = hits[i];
    return kept;
}

/* -- the graph --------------------------------------------------------------------------------- */

static size_t holder_of(const struct ip_leak_walk *w, size_t hit) {
    uint32_t holder = w->hits[hit].holder;
    return holder == IP_NO_HOLDER ? w->n_blocks : holder;
}

/* The hits of each holder, in the order in which they came. */
static void arrange(struct ip_leak_walk *w) {
    for (size_t i = 0; i < w->n_hits; i++) w->first[holder_of(w, i) + 1]++;
    for (size_t b = 0; b <= w->n_blocks; b++) w->first[b + 1] += w->first[b];
    /* Filling moves each beginning to the end of its hits, which is where the next begins. */
    for (size_t i = 0; i < w->n_hits; i++) w->order[w->first[holder_of(w, i)]++] = (uint32_t)i;
    memmove(w->first + 1, w->first, (w->n_blocks + 1) * sizeof *w->first);
    w->first[0] = 0;
    for (size_t b = 0; b < w->n_blocks; b++) {
        w->state[b] = IP_LS_UNSEEN;
        w->clique[b] = (uint32_t)b;
    }
}

static uint8_t place_of(uint64_t offset) { return offset == 8 ? IP_LR_WORD : offset == 24 ? IP_LR_HEADER : IP_LR_ELSE; }

/* The heuristic that takes a pointer into a block, 0 for none, or -1 if an answer is needed first. */
static int heuristic_of(struct ip_leak_walk *w, const struct ip_hit *hit) {
    uint8_t place = place_of(hit->offset), *refused = &w->refused[hit->block];
    int name = w->answer;
    w->answer = -1;
    if (name < 0) return *refused & place ? 0 : -1;
    if (!name && place != IP_LR_ELSE) *refused |= place;
    return name;
}

size_t ip_leak_inner(struct ip_leak_walk *w, uint32_t *blocks, uint64_t *addrs) {
    size_t found = 0;
    for (size_t i = 0; i < w->n_hits; i++)
        if (w->hits[i].offset && place_of(w->hits[i].offset) == IP_LR_ELSE) w->refused[w->hits[i].block] |= IP_LR_ELSE;
    for (size_t b = 0; b < w->n_blocks; b++) {
        if (!(w->refused[b] & IP_LR_ELSE)) continue;
        blocks[found] = (uint32_t)b;
        addrs[found++] = w->blocks[b].addr;
    }
    return found;
}

/* A block is possibly lost if each chain to it has an interior-pointer somewhere; it is looked at again when a better
 * one is found.  0: an answer is needed first. */
static int follow(struct ip_leak_walk *w, const struct ip_hit *hit, int reachable) {
    uint32_t block = hit->block;
    uint8_t before = w->state[block];
    if (before == IP_LS_REACHABLE) {
        if (!hit->offset) w->heuristic[block] = 0; /* not needed after all */
        return 1;
    }
    int name = hit->offset && w->asks ? heuristic_of(w, hit) : 0;
    if (name < 0) return 0;
    if (name) w->heuristic[block] = (uint8_t)name;
    uint8_t now = reachable && (name || !hit->offset) ? IP_LS_REACHABLE : IP_LS_POSSIBLE;
    if (now != before) {
        w->state[block] = now;
        w->queue[w->queued++] = block;
    }
    return 1;
}

/* Hang on a leader what it leads to: unseen blocks, and earlier leaders with all that is theirs. */
static void gather(struct ip_leak_walk *w, uint32_t leader) {
    uint32_t *queue = w->queue + 2 * w->n_blocks;
    size_t queued = 0;
    uint32_t block = leader;
    for (;;) {
        for (size_t i = w->first[block]; i < w->first[block + 1]; i++) queue[queued++] = w->hits[w->order[i]].block;
        for (;;) {
            if (!queued) return;
            block = queue[--queued];
            uint8_t before = w->state[block];
            if (block == leader || (before != IP_LS_UNSEEN && before != IP_LS_DEFINITE)) continue;
            w->state[block] = IP_LS_INDIRECT;
            w->clique[block] = leader;
            if (before == IP_LS_UNSEEN) break; /* what a leader leads to was gathered with it */
        }
    }
}

static int by_number(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Of a ring of blocks the first one leads.  Valgrind takes them by address, and its heap gives ascending ones until a
 * freed block is given again; ours has a place for each size.  So the oldest is taken.  Blocks that the program says
 * it has stay where they are behind the heap's. */
static void gather_all(struct ip_leak_walk *w) {
    uint64_t *turns = (uint64_t *)w->queue, turn = 0;
    size_t n = 0;
    int sorted = 1;
    for (size_t b = 0; b < w->n_blocks; b++) {
        if (is_allocated(&w->blocks[b])) turn = w->blocks[b].detail;
        if (w->state[b] != IP_LS_UNSEEN) continue;
        turns[n] = turn << 32 | b;
        sorted &= !n || turns[n - 1] < turns[n];
        n++;
    }
    if (!sorted) qsort(turns, n, sizeof *turns, by_number);
    for (size_t i = 0; i < n; i++) {
        uint32_t b = (uint32_t)turns[i];
        if (w->state[b] != IP_LS_UNSEEN) continue;
        w->state[b] = IP_LS_DEFINITE;
        gather(w, b);
    }
}

/* Valgrind's order decides which heuristic is named: the roots by address, then the block found last. */
int64_t ip_leak_go(struct ip_leak_walk *w) {
    if (w->stage == ROOTS) {
        arrange(w);
        w->holder = (uint32_t)w->n_blocks;
        w->at = w->first[w->n_blocks];
        w->answer = -1;
        w->stage = REACHED;
    }
    while (w->stage == REACHED) {
        for (; w->at < w->first[w->holder + 1]; w->at++) {
            const struct ip_hit *hit = &w->hits[w->order[w->at]];
            int reachable = w->holder == w->n_blocks || w->state[w->holder] == IP_LS_REACHABLE;
            if (!follow(w, hit, reachable)) return (int64_t)w->order[w->at];
        }
        if (!w->queued) {
            w->stage = LOST;
        } else {
            w->holder = w->queue[--w->queued];
            w->at = w->first[w->holder];
        }
    }
    if (w->stage == LOST) {
        gather_all(w);
        for (size_t b = 0; b < w->n_blocks; b++) {
            uint32_t leader = w->clique[b];
            while (w->clique[leader] != leader) leader = w->clique[leader];
            w->clique[b] = leader;
        }
        w->stage = DONE;
    }
    return -1;
}

/* -- sums -------------------------------------------------------------------------------------- */

size_t ip_leak_groups(const struct ip_leak_walk *w, uint32_t *slots, size_t n_slots, struct ip_leak_group *groups,
                      uint32_t *group_of) {
    const uint32_t none = UINT32_MAX;
    size_t count = 0;
    for (size_t i = 0; i < n_slots; i++) slots[i] = none;
    for (size_t b = 0; b < w->n_blocks; b++) {
        uint32_t origin = w->blocks[b].origin, state = w->state[b];
        size_t at = ((origin * 4ull + state) * 0x9e3779b97f4a7c15ull >> 32) & (n_slots - 1);
        while (slots[at] != none && (groups[slots[at]].origin != origin || groups[slots[at]].state != state))
            at = (at + 1) & (n_slots - 1);
        if (slots[at] == none) {
            if (count == n_slots / 2) return 0;
            slots[at] = (uint32_t)count;
            groups[count++] = (struct ip_leak_group){.origin = origin, .state = state};
        }
        struct ip_leak_group *group = &groups[slots[at]];
        group->bytes += w->blocks[b].size;
        group->blocks++;
        group_of[b] = slots[at];
    }
    for (size_t b = 0; b < w->n_blocks; b++) {
        if (w->clique[b] == b) continue;
        struct ip_leak_group *group = &groups[group_of[w->clique[b]]];
        group->indirect_bytes += w->blocks[b].size;
        group->indirect_blocks++;
    }
    return count;
}

void ip_leak_by_state(const struct ip_leak_walk *w, uint64_t *bytes, uint64_t *blocks) {
    for (size_t b = 0; b < w->n_blocks; b++) {
        bytes[w->state[b]] += w->blocks[b].size;
        blocks[w->state[b]]++;
    }
}

void ip_leak_by_heuristic(const struct ip_leak_walk *w, uint64_t *bytes, uint64_t *blocks) {
    for (size_t b = 0; b < w->n_blocks; b++) {
        bytes[w->heuristic[b]] += w->blocks[b].size;
        blocks[w->heuristic[b]]++;
    }
}
